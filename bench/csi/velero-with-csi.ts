import { startVeleroServer } from '../../tools/velero/velero-server.ts'
import type { Contender } from '../backup/contenders.ts'

/** Velero with its CSI actions, and with these flags. */
export function veleroWithCsi(name: string, flags: readonly string[] = []): Contender {
  const namespace = 'velero-server'
  return {
    name,
    namespace,
    start: cluster =>
      startVeleroServer({
        cluster,
        namespace,
        flags: ['--features=EnableCSI', ...flags],
        env: { KUBECONFIG: cluster.kubeconfigPath },
      }),
  }
}
