import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Backup, DeleteBackupRequest } from '@lateen/api'
import { type Informer, silentLogger, systemClock } from '@lateen/kube'
import { startObjectServer } from '../../../../tools/test/object-server.ts'
import type { StuckCount } from '../metrics/stuck-gauge.ts'
import type { PhasedObject } from '../watchdog/stuck-rules.ts'
import type { LatestObjects } from './latest-objects.ts'
import { watchdogController } from './watchdog.ts'

const now = Date.parse('2026-01-01T05:00:00Z')

function restore(name: string, phase: string, completionTimestamp?: string): PhasedObject {
  return {
    ...{ apiVersion: 'velero.io/v1', kind: 'Restore', spec: {} },
    metadata: { name, namespace: 'velero', uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
    status: { phase, ...(completionTimestamp && { completionTimestamp }) },
  }
}

/** A watchdog whose looks are told which restores there are, and what each look tells. */
async function givenWatchdog() {
  const server = await startObjectServer({ kinds: [] })
  const context = { log: silentLogger, signal: new AbortController().signal, failures: 0 }
  let restores: PhasedObject[] = []
  let counted: readonly StuckCount[] = []
  const events: string[] = []
  const { reconcile } = watchdogController({
    client: server.client,
    clock: { ...systemClock, now: () => now },
    gauge: {
      set(_part, stuck) {
        counted = stuck
      },
    },
    backups: { list: () => [] } as unknown as LatestObjects<Backup>,
    requests: { list: () => [] } as unknown as Informer<DeleteBackupRequest>,
    others: () => restores,
  })
  return {
    async look(...seen: PhasedObject[]) {
      restores = seen
      server.requests.length = 0
      await reconcile('objects', context)
      events.push(...server.requests.filter(request => request.startsWith('POST ')))
      return { counted: counted.map(({ phase }) => phase), events: events.length }
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

it('a restore was told to be stuck in the moment between the end of the one before it and its own beginning', async () => {
  await using watchdog = await givenWatchdog()
  const waiting = restore('waiting', 'New')
  // That the next one has begun is not seen yet.
  assert.deepEqual(await watchdog.look(waiting), { counted: [], events: 0 })
  assert.deepEqual(await watchdog.look(waiting, restore('next', 'InProgress')), { counted: [], events: 0 })
  assert.deepEqual(await watchdog.look(waiting), { counted: [], events: 0 }, 'the first of two looks again')
  assert.deepEqual(await watchdog.look(waiting), { counted: ['New'], events: 1 })
  assert.deepEqual(await watchdog.look(waiting), { counted: ['New'], events: 1 }, 'told once')
})

it('what hinges on no other object is told at the first look', async () => {
  await using watchdog = await givenWatchdog()
  const stuck = restore('stuck', 'InProgress')
  stuck.metadata.creationTimestamp = '2025-01-01T00:00:00Z'
  assert.deepEqual(await watchdog.look(stuck), { counted: ['InProgress'], events: 1 })
})
