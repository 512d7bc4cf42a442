import { allKinds } from '@lateen/api'
import { builtInKind, type KubeObject, type ResourceType } from '@lateen/kube'
import { connect } from '../connect.ts'
import { parseDuration } from '../parse/duration.ts'
import { readFlagValues } from '../parse/flag-values.ts'
import { readClientConfig } from '../settings/client-config.ts'
import { settingsOf } from '../settings/settings.ts'
import type { Settings, Surroundings } from '../tree/command.ts'
import type { FlagValues } from '../tree/flag.ts'
import { globalFlags } from '../tree/global-flags.ts'
import { commandTree } from '../tree/root.ts'
import { type CompletionRequest, completionRequest } from './completion-request.ts'

/** Somebody waits with a finger on the key: names that take longer are not worth it, unless they say so. */
const PATIENCE_MS = 2_000
const PATIENCE_VARIABLE = 'LATEEN_COMPLETION_TIMEOUT'

/** What the shell is told with the words, in cobra's numbers: complete nothing else, or file names. */
const NO_FILES = 4
const FILES = 0

// What the shell would have to quote, or would even run, is no name of an object.
const plainName = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

const NamespaceKind = builtInKind('Namespace')

/**
 * Answers a completion script in the protocol of cobra's: a word on each line, with `described` followed by a tab and its help,
 * and then a colon with what to do if none fits. Never fails: a cluster that cannot be asked has no names.
 */
export async function complete(
  words: readonly string[],
  surroundings: Surroundings,
  { described }: { described: boolean },
): Promise<string> {
  const { request, given } = completionRequest(commandTree, globalFlags, words)
  const typed = words.at(-1) ?? ''
  const offers =
    request.want === 'words'
      ? request.offers
      : (await liveNames(request, given, surroundings).catch(() => [])).map(word => ({ word, help: '' }))
  const lines = offers
    .filter(({ word }) => word.startsWith(typed))
    .map(({ word, help }) => (described && help !== '' ? `${word}\t${help}` : word))
  return [...lines, `:${request.want === 'files' ? FILES : NO_FILES}`, ''].join('\n')
}

async function liveNames(
  request: CompletionRequest,
  given: ReadonlyMap<string, string>,
  surroundings: Surroundings,
): Promise<string[]> {
  if (request.want !== 'names') return []
  const patience = parseDuration(surroundings.env[PATIENCE_VARIABLE] ?? '')?.milliseconds ?? PATIENCE_MS
  const signal = AbortSignal.any([surroundings.signal, AbortSignal.timeout(Math.max(1, patience))])
  const names = namesOf(request.plural, await settings(given, surroundings), { ...surroundings, signal })
  // A credential plugin that hangs does not hear of the signal.
  const found = await Promise.race([names, aborted(signal)])
  return found
    .filter(name => plainName.test(name) && !request.taken.includes(name))
    .map(name => request.lead + name)
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

async function settings(given: ReadonlyMap<string, string>, { home, env }: Surroundings): Promise<Settings> {
  const texts = new Map(
    [...given].filter(([name]) => name in globalFlags).map(([name, text]) => [name, [text]]),
  )
  const flags = readFlagValues(globalFlags, texts) as FlagValues<typeof globalFlags>
  return settingsOf({ flags, env, config: await readClientConfig(home) })
}

async function namesOf(plural: string, where: Settings, surroundings: Surroundings): Promise<string[]> {
  const { signal } = surroundings
  const kind: ResourceType<KubeObject> | undefined =
    plural === NamespaceKind.plural ? NamespaceKind : allKinds.find(known => known.plural === plural)
  if (kind === undefined) return []
  await using client = await connect(where, surroundings)
  const names: string[] = []
  for await (const { metadata } of client.resource(kind, where.namespace).list({ signal })) {
    names.push(metadata.name ?? '')
  }
  return names
}
