"""The advice of `diagnose` on fresh cases of every kind whose right answer is known."""

from campaign.advice.runner import run as run
