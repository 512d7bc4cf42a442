import type { PluginKind, PluginOfKind } from '@lateen/plugin'
import type { RestartableProgram } from './restartable-program.ts'
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
    const ask = () =>
      program.call({ kind, name }, plugin => apply(plugin, method, input), {
        signal: input?.signal,
        long: length === 'long',
      })
    return method === 'appliesTo' ? inTurn(program, ask) : ask()
  }) as PluginOfKind[Kind]
}

const lastTurns = new WeakMap<RestartableProgram, Promise<unknown>>()

/**
 * What is asked of a program one after the other. The first call of a plugin has Velero's framework note it in a map without a lock
 * (`server_mux.go`): two at a time may end the program. What an action applies to is what it is asked first.
 */
function inTurn<Answer>(program: RestartableProgram, ask: () => Promise<Answer>): Promise<Answer> {
  const answer = (lastTurns.get(program) ?? Promise.resolve()).then(ask)
  lastTurns.set(
    program,
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
