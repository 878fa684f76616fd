"""What the claims about refinement share: points, contenders, tuning and the verdict on each."""
