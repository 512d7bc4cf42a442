import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  cancelAnnotation,
  finalizerNames,
  type ObjectMeta,
  type Restore,
  RestoreKind,
  type RestorePhase,
} from '@lateen/api'
import { keptForFiles } from './remove-restore.ts'
import { nextStep } from './restore.ts'
import { finalizedStatus, isFinalizing } from './restore-finalizer.ts'

function restoreIn(phase: RestorePhase | undefined, metadata: ObjectMeta = {}): Restore {
  const status = phase === undefined ? {} : { status: { phase } }
  return { apiVersion: 'velero.io/v1', kind: 'Restore', metadata, spec: { backupName: 'b' }, ...status }
}

const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const kept = { ...deleted, finalizers: [finalizerNames.restoreExternalResources] }

describe('The step of a restore', () => {
  it('is to start when it is new, and to fail when it was in progress elsewhere', () => {
    assert.deepEqual(nextStep(restoreIn(undefined), false), { type: 'start' })
    assert.deepEqual(nextStep(restoreIn('New'), false), { type: 'start' })
    assert.deepEqual(nextStep(restoreIn('InProgress'), false), { type: 'fail-interrupted' })
    assert.deepEqual(nextStep(restoreIn('InProgress'), true), { type: 'ignore' })
  })

  it('is to cancel one that has not begun, and not to begin it', () => {
    const annotations = { [cancelAnnotation]: 'true' }
    assert.deepEqual(nextStep(restoreIn(undefined, { annotations }), false), { type: 'cancel' })
    assert.deepEqual(nextStep(restoreIn('New', { annotations }), false), { type: 'cancel' })
    const no = { [cancelAnnotation]: 'false' }
    assert.deepEqual(nextStep(restoreIn('New', { annotations: no }), false), { type: 'start' })
  })

  it('is to stop what a failed one has left going', () => {
    const annotations = { 'lateen.dev/leftovers': 'true' }
    assert.deepEqual(nextStep(restoreIn('Failed', { annotations }), false), { type: 'stop-leftovers' })
    assert.deepEqual(nextStep(restoreIn('Completed', { annotations }), false), { type: 'ignore' })
  })

  it('is none in every other phase', () => {
    for (const phase of RestoreKind.phases?.phases ?? []) {
      if (phase === 'New' || phase === 'InProgress') continue
      assert.deepEqual(nextStep(restoreIn(phase), false), { type: 'ignore' }, phase)
    }
  })

  it('is to remove its files when it is deleted and kept for that, unless it runs', () => {
    for (const phase of ['New', 'InProgress', 'Finalizing', 'Completed'] as const) {
      assert.deepEqual(nextStep(restoreIn(phase, kept), false), { type: 'remove' })
      assert.deepEqual(nextStep(restoreIn(phase, kept), true), { type: 'ignore' })
      assert.deepEqual(nextStep(restoreIn(phase, deleted), false), { type: 'ignore' })
    }
  })

  it('keeps the finalizers that others have set', () => {
    const ours = finalizerNames.restoreExternalResources
    assert.deepEqual(keptForFiles(restoreIn('New', { finalizers: ['other'] })), ['other', ours])
    assert.deepEqual(keptForFiles(restoreIn('New', { finalizers: [ours] })), [ours])
  })
})

describe('The end of a restore', () => {
  it('comes from two phases, and not for one that is being deleted', () => {
    assert.equal(isFinalizing(restoreIn('Finalizing')), true)
    assert.equal(isFinalizing(restoreIn('FinalizingPartiallyFailed')), true)
    assert.equal(isFinalizing(restoreIn('Completed')), false)
    assert.equal(isFinalizing(restoreIn('Finalizing', kept)), false)
  })

  it('is Completed only when nothing went wrong, before or in the end', () => {
    const none = { warnings: 0, errors: 0 }
    const completionTimestamp = '1970-01-01T00:00:01Z'
    assert.deepEqual(finalizedStatus(restoreIn('Finalizing'), none, 1_000), {
      phase: 'Completed',
      completionTimestamp,
    })
    assert.deepEqual(finalizedStatus(restoreIn('Finalizing'), { warnings: 1, errors: 2 }, 1_000), {
      phase: 'PartiallyFailed',
      completionTimestamp,
      warnings: 1,
      errors: 2,
    })
    const partly = restoreIn('FinalizingPartiallyFailed')
    partly.status = { ...partly.status, errors: 3, warnings: 4 }
    assert.deepEqual(finalizedStatus(partly, { warnings: 1, errors: 0 }, 1_000), {
      phase: 'PartiallyFailed',
      completionTimestamp,
      warnings: 5,
      errors: 3,
    })
  })
})
