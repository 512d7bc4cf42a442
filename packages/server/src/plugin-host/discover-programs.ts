import type { Logger } from '@lateen/kube'
import { isPluginKind, type PluginKind, pluginKinds, pluginNameProblem } from '@lateen/plugin'
import { findPrograms } from './find-programs.ts'
import type { LaunchedProgram, ProgramLauncher } from './program-launcher.ts'

/** A program and what is in it. */
export interface DiscoveredProgram {
  file: string
  plugins: readonly { kind: PluginKind; name: string }[]
}

export interface DiscoveryOptions {
  folder: string
  launcher: ProgramLauncher
  log: Logger
  signal: AbortSignal
}

/** Programs asked at the same time. */
const AT_ONCE = 4

/**
 * Asks every program in the plugins folder for its plugins, in the order in which they are registered. What cannot be used is logged as a
 * warning that names the file, the reason and the remedy, and left out. Rejects with the signal's reason alone.
 */
export async function discoverPrograms(options: DiscoveryOptions): Promise<DiscoveredProgram[]> {
  const { folder, log, signal } = options
  const { programs, skipped } = await findPrograms(folder)
  for (const each of skipped) log.warn({ ...each }, 'a file in the plugins folder is not used')
  const found: (DiscoveredProgram | undefined)[] = []
  const files = programs.entries()
  const ask = async () => {
    for (const [place, file] of files) found[place] = await discover(file, options)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, ask))
  signal.throwIfAborted()
  return found.filter(program => program !== undefined)
}

async function discover(
  file: string,
  { launcher, log, signal }: DiscoveryOptions,
): Promise<DiscoveredProgram | undefined> {
  let launched: LaunchedProgram | undefined
  try {
    launched = await launcher.start(file, { log, signal })
    const listed = await launched.process.listPlugins(signal)
    const { plugins, problems } = usablePlugins(listed)
    for (const problem of problems) log.warn({ file, ...problem }, 'a plugin of a program is not used')
    return { file, plugins }
  } catch (error) {
    signal.throwIfAborted()
    const reason = error instanceof Error ? error.message : String(error)
    const hint =
      'If it is no plugin, remove it from the plugins folder or chmod 0644 it; then restart the server'
    log.warn({ file, reason, hint }, 'a program in the plugins folder is not used')
    return undefined
  } finally {
    await launched?.end()
  }
}

/** A plugin that a program lists and that is not used. */
export interface PluginProblem {
  kind: string
  name: string
  reason: string
  hint: string
}

/** What of a program's list can be used, by kind and then by name. */
export function usablePlugins(listed: readonly { kind: string; name: string }[]): {
  plugins: { kind: PluginKind; name: string }[]
  problems: PluginProblem[]
} {
  const plugins: { kind: PluginKind; name: string }[] = []
  const problems: PluginProblem[] = []
  const seen = new Set<string>()
  for (const { kind, name } of listed) {
    const problem = listingProblem(kind, name, seen)
    seen.add(`${kind} ${name}`)
    if (problem !== undefined) problems.push({ kind, name, ...problem })
    else if (isPluginKind(kind)) plugins.push({ kind, name })
  }
  const place = ({ kind }: { kind: PluginKind }) => pluginKinds.indexOf(kind)
  plugins.sort((a, b) => place(a) - place(b) || (a.name < b.name ? -1 : 1))
  return { plugins, problems }
}

function listingProblem(
  kind: string,
  name: string,
  seen: ReadonlySet<string>,
): { reason: string; hint: string } | undefined {
  if (!isPluginKind(kind)) {
    return { reason: 'this server does not know its kind', hint: 'Look for a version of it for this server' }
  }
  const problem = pluginNameProblem(name)
  if (problem !== undefined) {
    return { reason: `its name is not allowed: ${problem}`, hint: "Tell the plugin's author" }
  }
  if (!seen.has(`${kind} ${name}`)) return undefined
  return { reason: 'the program lists it twice', hint: "Tell the plugin's author" }
}
