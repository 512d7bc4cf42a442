import assert from 'node:assert/strict'
import type { Backup } from '@lateen/api'
import { type ActionItem, type BackupItemResult, isPluginError, type PluginErrorCode } from '@lateen/plugin'
import type { HostLimits } from '../../packages/server/src/plugin-host/host-limits.ts'
import type { PluginSession } from '../../packages/server/src/plugin-host/plugin-session.ts'
import { type CollectedLog, collectLog } from './collected-log.ts'
import { makePluginFolder, type PluginFolder } from './plugin-folder.ts'
import { openPluginHost, type PluginHost } from './plugin-host-scene.ts'

/** What the faulty program is called with. */
export const item: ActionItem = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'n' },
}
export const backup: Backup = {
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'b' },
  spec: {},
}

/** A host with the faulty program, and a session of it. */
export interface FaultyScene extends AsyncDisposable {
  folder: PluginFolder
  host: PluginHost
  session: PluginSession
  log: CollectedLog
  execute(name: string, signal?: AbortSignal): Promise<BackupItemResult>
  /** What was asked since the last time this was asked. */
  news(): Promise<{ pid: number; what: string }[]>
}

/** Starts a host with the faulty program. Disposing ends it. */
export async function openFaultyScene(limits: Partial<HostLimits> = {}): Promise<FaultyScene> {
  const scene = new AsyncDisposableStack()
  const folder = scene.use(await makePluginFolder())
  await folder.script('faulty', 'faulty-plugin.ts')
  const host = scene.use(await openPluginHost({ folder: folder.path, limits }))
  const log = collectLog()
  const session = scene.use(host.registry.open({ log }))
  let known = (await folder.noted()).length
  return {
    ...{ folder, host, session, log },
    execute: (name, signal) =>
      session.backupItemAction(`example.com/${name}`).execute({ item, backup, signal }),
    async news() {
      const all = await folder.noted()
      const fresh = all.slice(known)
      known = all.length
      return fresh
    },
    [Symbol.asyncDispose]: () => scene.disposeAsync(),
  }
}

/** For `assert.rejects`: a PluginError of that code. */
export const failsWith = (code: PluginErrorCode) => (error: unknown) => {
  assert.ok(isPluginError(error), `expected a PluginError, got ${error}`)
  assert.equal(error.code, code, error.message)
  return true
}

/** What was noted, without by whom. */
export const what = (notes: readonly { what: string }[]) => notes.map(each => each.what)
