"""Commands for documents: `foja protect`, `status`, `explain`, `retry`, `sign`, `bundle`, `trust`, …"""
