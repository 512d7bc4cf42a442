import { unlessNotFound } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import type { Progress } from '../output/progress.ts'
import type { InstallPorts } from './install-ports.ts'
import { DaemonSetKind, DeploymentKind } from './installed-kinds.ts'
import { StartingPodKind } from './pod-trouble.ts'

const POLL_MS = 300
const STOPPED_WITHIN_MS = 180_000

/** Names and pods of what runs for an installation. `restic` is the node agent of very old versions. */
const workloads = [
  { kind: DeploymentKind, name: 'velero', pods: 'deploy=velero' },
  { kind: DaemonSetKind, name: 'node-agent', pods: 'name=node-agent' },
  { kind: DaemonSetKind, name: 'node-agent-windows', pods: 'name=node-agent-windows' },
  { kind: DaemonSetKind, name: 'restic', pods: 'name=restic' },
] as const

/**
 * Removes server and node agents and waits until their pods have ended. Throws a CliError (`TIMEOUT`) naming pods that do not
 * end.
 */
export async function* stopWorkloads(
  namespace: string,
  ports: InstallPorts,
): AsyncGenerator<string | Progress> {
  const { client, signal } = ports
  for (const { kind, name } of workloads) {
    const stored = client.resource(kind, namespace)
    const found = await stored.get(name, { signal }).catch(unlessNotFound)
    if (found === undefined) continue
    await stored.delete(name, { signal, propagationPolicy: 'Foreground' }).catch(unlessNotFound)
    yield `${kind.kind}/${name}: removed`
  }
  yield* awaitEnd(namespace, ports)
}

async function* awaitEnd(
  namespace: string,
  { client, clock, signal }: InstallPorts,
): AsyncGenerator<Progress> {
  const started = clock.now()
  for (;;) {
    const left: string[] = []
    for (const { pods: labelSelector } of workloads) {
      const pods = client.resource(StartingPodKind, namespace).list({ labelSelector, signal })
      for await (const { metadata } of pods) left.push(metadata.name ?? '')
    }
    if (left.length === 0) return
    const elapsedMs = clock.now() - started
    if (elapsedMs >= STOPPED_WITHIN_MS) throw stillThere(namespace, left)
    const phase = `Waiting for ${left.length} ${left.length === 1 ? 'pod' : 'pods'} to end`
    yield { phase, done: 0, total: 0, elapsedMs }
    await clock.sleep(POLL_MS, signal)
  }
}

function stillThere(namespace: string, pods: readonly string[]): CliError {
  return new CliError('TIMEOUT', `these pods of namespace ${namespace} do not end: ${pods.join(', ')}`, {
    hint: `if their node is gone for good, remove them with 'kubectl -n ${namespace} delete pod --force ${pods.join(' ')}', then run the command again`,
  })
}
