"""Images are decoded in subprocesses that can do nothing else.

`program` is what runs there, `sandbox` what it gives up before it reads a byte, `engine` what it does.
`pool` starts, bounds and replaces the processes. Nothing here trusts what a process answers.
"""
