//go:build tools

// Package tools pins the Kopia that repositories are checked with.
package tools

import _ "github.com/kopia/kopia"
