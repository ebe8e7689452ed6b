"""Which token gets how much credit for a completion's reward: group means, or a critic trained beside the policy."""
