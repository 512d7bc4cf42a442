import type { KubeClient } from '@lateen/kube'
import type { Settings, Surroundings } from './tree/command.ts'

// Somebody waits at the terminal: a server that restarts is worth two seconds, not twenty.
const retry = { attempts: 4 }

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
    retry,
  })
}
