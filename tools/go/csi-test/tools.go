//go:build tools

// Package tools pins the CSI conformance program.
package tools

import _ "github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity"
