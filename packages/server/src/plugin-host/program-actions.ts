import type { PluginKind, PluginOfKind } from '@lateen/plugin'
import type { ProgramProcess } from './program-process.ts'
import { type RestartableProgram, untilAbort } from './restartable-program.ts'
import type { SessionPrograms } from './session-programs.ts'

export type ActionKind = Exclude<PluginKind, 'ObjectStore' | 'VolumeSnapshotter'>

type Methods<Kind extends PluginKind> = { readonly [Method in keyof PluginOfKind[Kind]]?: 'short' | 'long' }

const operations = { progress: 'short', cancel: 'short' } as const

/** What can be asked of each kind, and whether the answer may take long. */
const methods: { readonly [Kind in ActionKind]: Methods<Kind> } = {
  BackupItemAction: { appliesTo: 'short', execute: 'long' },
  BackupItemActionV2: { appliesTo: 'short', execute: 'long', ...operations },
  BackupItemActionV3: { appliesTo: 'short', execute: 'long', getAdditionalItems: 'long', ...operations },
  RestoreItemAction: { appliesTo: 'short', execute: 'long' },
  RestoreItemActionV2: {
    ...{ appliesTo: 'short', execute: 'long', areAdditionalItemsReady: 'short' },
    ...operations,
  },
  DeleteItemAction: { appliesTo: 'short', execute: 'long' },
  ItemBlockAction: { appliesTo: 'short', getRelatedItems: 'long' },
}

/** An action in a program. Nothing is started before one of its methods is called. */
export function programAction<Kind extends ActionKind>(
  program: RestartableProgram,
  kind: Kind,
  name: string,
): PluginOfKind[Kind] {
  return forwarding(methods[kind], (method, input, length) => {
    const signal = input?.signal
    const work = async (plugin: object, process: ProgramProcess) => {
      const known = acquaintancesOf(process)
      const id = `${kind} ${name}`
      // It may have ended while this waited for its turn.
      const ask = (what: string, of?: Input) => process.call(() => apply(plugin, what, of))
      const selector = () => inTurn(process, () => ask('appliesTo'))
      if (method === 'appliesTo') return meet(known, id, selector())
      await untilAbort(known.get(id) ?? meet(known, id, selector()).catch(() => undefined), signal)
      return ask(method, input)
    }
    return program.call({ kind, name }, work, { signal, long: length === 'long' })
  }) as PluginOfKind[Kind]
}

const lastTurns = new WeakMap<ProgramProcess, Promise<unknown>>()

/**
 * What is asked of a process one after the other. The first call of a plugin has Velero's framework note it in a map without a lock
 * (`server_mux.go`): two at a time may end the program.
 */
function inTurn<Answer>(process: ProgramProcess, ask: () => Promise<Answer>): Promise<Answer> {
  const answer = (lastTurns.get(process) ?? Promise.resolve()).then(ask)
  lastTurns.set(
    process,
    answer.catch(() => undefined),
  )
  return answer
}

/** By process: the plugins that were asked before, with the end of that. */
const acquaintances = new WeakMap<ProgramProcess, Map<string, Promise<unknown>>>()

function acquaintancesOf(process: ProgramProcess): Map<string, Promise<unknown>> {
  const known = acquaintances.get(process) ?? new Map<string, Promise<unknown>>()
  acquaintances.set(process, known)
  return known
}

/** What an action applies to is what it is asked first, whoever asks, and of each process anew. */
function meet<Answer>(
  known: Map<string, Promise<unknown>>,
  id: string,
  answer: Promise<Answer>,
): Promise<Answer> {
  known.set(
    id,
    answer.catch(() => undefined),
  )
  return answer
}

const snapshotterMethods: Omit<Methods<'VolumeSnapshotter'>, 'init'> = {
  createVolumeFromSnapshot: 'long',
  getVolumeInfo: 'short',
  createSnapshot: 'long',
  deleteSnapshot: 'long',
  getVolumeId: 'short',
  setVolumeId: 'short',
  ...operations,
}

/** A volume snapshotter in a program, to be initialised by the caller. */
export function programSnapshotter(
  programs: SessionPrograms,
  file: string,
  name: string,
): PluginOfKind['VolumeSnapshotter'] {
  const key = { kind: 'VolumeSnapshotter', name } as const
  let program = programs.program(file)
  const others = forwarding(snapshotterMethods, (method, input, length) =>
    program.call(key, plugin => apply(plugin, method, input), {
      ...{ signal: input?.signal, long: length === 'long' },
    }),
  ) as Omit<PluginOfKind['VolumeSnapshotter'], 'init'>
  return {
    ...others,
    async init({ config, signal }) {
      program = programs.programFor(file, key, config)
      await program.initialise(key, config, signal)
    },
  }
}

interface Input {
  signal?: AbortSignal | undefined
}

function apply(plugin: object, method: string, input: Input | undefined): Promise<unknown> {
  const ask = Reflect.get(plugin, method) as (input: Input | undefined) => Promise<unknown>
  return ask.call(plugin, input)
}

function forwarding(
  all: Readonly<Record<string, 'short' | 'long' | undefined>>,
  ask: (method: string, input: Input | undefined, length: 'short' | 'long') => Promise<unknown>,
): object {
  const entries = Object.entries(all).map(([method, length = 'short']) => [
    method,
    (input?: Input) => ask(method, input, length),
  ])
  return Object.fromEntries(entries)
}
