import type { Logger } from '@lateen/kube'
import { discoverPrograms } from '../plugin-host/discover-programs.ts'
import type { ExternalPlugins } from '../plugin-host/plugin-registry.ts'
import { createProgramLauncher } from '../plugin-host/program-launcher.ts'
import type { ServerOptions } from './server-options.ts'
import { processIsAlive } from './server-scratch.ts'
import { stopTimes } from './stop-times.ts'

export interface ExternalPluginsOptions {
  options: Pick<
    ServerOptions,
    'namespace' | 'logLevel' | 'features' | 'pluginFolder' | 'preferExternalPlugins'
  >
  log: Logger
  signal: AbortSignal
}

/**
 * Finds the plugins of the plugins folder. Disposing ends their programs; so does the end of this process, unless it is killed, and then
 * the next server ends them. Undefined when the signal aborted meanwhile.
 */
export async function openExternalPlugins({
  options,
  log,
  signal,
}: ExternalPluginsOptions): Promise<(ExternalPlugins & AsyncDisposable) | undefined> {
  const { namespace, logLevel, features, pluginFolder: folder, preferExternalPlugins: prefer } = options
  const launcher = await createProgramLauncher({
    ...{ namespace, logLevel, features, env: process.env },
    ...{ pid: process.pid, isAlive: processIsAlive },
  })
  const killNow = () => launcher.killNow()
  const killSoon = () => void setTimeout(killNow, stopTimes.programsMs).unref()
  process.once('exit', killNow)
  signal.addEventListener('abort', killSoon, { once: true })
  const end = async () => {
    await launcher[Symbol.asyncDispose]()
    process.off('exit', killNow)
    signal.removeEventListener('abort', killSoon)
  }
  try {
    const programs = await discoverPrograms({ folder, launcher, log, signal })
    return { programs, launcher, prefer, [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    if (signal.aborted) return undefined
    throw error
  }
}
