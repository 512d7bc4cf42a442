import type { KubeClient } from '@lateen/kube'
import type { Settings, Surroundings } from './tree/command.ts'

// Somebody waits at the terminal: a server that restarts is worth two seconds, not twenty, and one that says nothing until the time
// is over will say nothing the next time, either.
const retry = { attempts: 4, patienceMs: 10_000 }

const CONNECT_MS = 10_000

/** Opens a client for the cluster that the settings name. Throws a KubeError when there is no usable kubeconfig. */
export async function connect(settings: Settings, surroundings: Surroundings): Promise<KubeClient> {
  const { createKubeClient, loadKubeConfig } = await import('@lateen/kube')
  const config = await loadKubeConfig({
    path: settings.kubeconfig,
    context: settings.kubecontext,
    env: { ...surroundings.env, HOME: surroundings.home },
    clock: surroundings.clock,
  })
  return createKubeClient({
    config,
    clock: surroundings.clock,
    userAgent: 'lateen-cli',
    connections: 4,
    connectTimeoutMs: Math.min(CONNECT_MS, settings.requestTimeoutMs || CONNECT_MS),
    requestTimeoutMs: settings.requestTimeoutMs,
    retry,
  })
}
