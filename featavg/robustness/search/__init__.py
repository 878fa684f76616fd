"""Search: proposes witnesses and proof trees, in any arithmetic. Nothing depends on its being right."""
