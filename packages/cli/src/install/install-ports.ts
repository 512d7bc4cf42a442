import type { Clock, KubeClient } from '@lateen/kube'

/** The cluster to change and how long to go on. */
export interface InstallPorts {
  readonly client: KubeClient
  readonly clock: Clock
  readonly signal: AbortSignal
}
