import type { DownloadTargetKind } from '@lateen/api'
import type { Clock, KubeClient } from '@lateen/kube'

/** Which file of which backup or restore. */
export interface DownloadTarget {
  readonly kind: DownloadTargetKind
  readonly name: string
}

/** Whom to believe at the other end of a TLS connection. */
export interface Trust {
  /** PEM texts, in addition to the usual authorities. */
  readonly certificates: readonly string[]
  /** Believes anybody. */
  readonly insecure: boolean
}

/** Everything that a download touches. */
export interface DownloadPorts {
  readonly client: KubeClient
  readonly namespace: string
  readonly clock: Clock
  readonly signal: AbortSignal
  /** For the proxies it may name. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly trust: Trust
  /** How long to wait for the link, and later for more bytes. */
  readonly timeoutMs: number
}
