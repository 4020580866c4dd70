# SPDX-License-Identifier: Apache-2.0
"""One file for each family of operations, and what they share."""
