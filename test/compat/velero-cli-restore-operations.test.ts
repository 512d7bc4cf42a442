import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { RestorePhase } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilSeen } from '../../tools/cluster/wait-until.ts'
import { type OperationsScene, openOperationsScene } from '../cluster/restore-operations-scene.ts'
import { bothPrograms } from './both-programs.ts'

const given = await givenCluster({ s3: true })
const both = await bothPrograms(given)

describe('velero and lateen show the operations of a restore', {
  skip: both.skip,
  concurrency: false,
}, () => {
  let all: OperationsScene

  before(async () => {
    all = await openOperationsScene(given.cluster, 'velero-cli-ops')
    // Nobody asks plugins while both programs look.
    await all.start({ itemOperationSyncFrequency: 4_000 })
  })
  after(() => all?.[Symbol.asyncDispose]())

  const inPhase = (name: string, phase: RestorePhase) =>
    all.scene.restores.until(name, ({ status }) => status?.phase === phase)

  /** What both say, as soon as they have looked at the same. */
  async function described(name: string): Promise<string> {
    const args = ['-n', all.scene.namespace, '--colorized=false', 'restore', 'describe', name, '--details']
    const shown = async () => {
      const [ours, theirs] = await Promise.all([both.run('lateen', args), both.run('velero', args)])
      return [ours.replaceAll("'lateen restore logs", "'velero restore logs"), theirs] as const
    }
    let [ours, theirs] = await shown()
    for (let tries = 0; ours !== theirs && tries < 2; tries++) [ours, theirs] = await shown()
    assert.equal(ours, theirs)
    return ours
  }

  it('in the same words while it waits, after one has failed, and in the end', async () => {
    await all.create('shown', { begin: true })
    await inPhase('shown', 'WaitingForPluginOperations')
    const before = await described('shown')
    assert.match(before, /^Phase: +WaitingForPluginOperations$/m)
    assert.equal(before.match(/^ +Operation ID: +shown\.(one|two)$/gm)?.length, 2)
    const started = Date.UTC(2026, 0, 2, 3, 4, 5)
    await all.tell('shown.one', {
      ...{ nCompleted: 3, nTotal: 10, operationUnits: 'pages', description: 'turning', started },
      updated: started + 60_000,
    })
    // A failure ends the round of questions: what another operation answers then is noted in the next round only.
    await untilSeen('the progress of shown.one', async () =>
      (await all.operations('shown')).some(({ status }) => status.nCompleted === 3),
    )
    await all.tell('shown.two', { completed: true, error: 'torn', started: 0, updated: -62_135_596_800_000 })
    await inPhase('shown', 'WaitingForPluginOperationsPartiallyFailed')
    const during = await described('shown')
    assert.match(during, /^ +Progress: +3 of 10 complete \(pages\)$/m)
    assert.match(during, /^ +Progress description: +turning$/m)
    assert.match(during, /^ +Started: +2026-01-02 03:04:05 \+0000 UTC$/m)
    assert.match(during, /^ +Operation Error: +torn$/m)
    assert.equal(during.match(/^ +(Started|Updated):/gm)?.length, 2, 'no times that nobody knows')
    await all.tell('shown.one', { completed: true, nCompleted: 10, nTotal: 10, operationUnits: 'pages' })
    await all.scene.restores.ended('shown')
    const after = await described('shown')
    assert.match(after, /^Phase: +PartiallyFailed /m)
    assert.match(after, /error from restore item operation: torn/)
    const args = ['-n', all.scene.namespace, 'restore', 'describe', 'shown']
    assert.match(
      await both.run('velero', args),
      /Restore Item Operations: +1 of 2 completed successfully, 1 failed/,
    )
  })
})
