import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type DataMovePhase, PodVolumeBackupKind } from '@lateen/api'
import type { Moved } from '../volumes/moves-of.ts'
import { stillGoing } from './end-moves.ts'

describe('moves of a deleted backup that were told to end', () => {
  it('keep the backup while a node agent is at work on them, and not before or after', () => {
    const move = (phase?: DataMovePhase | ''): Moved => ({
      apiVersion: 'velero.io/v1',
      kind: 'PodVolumeBackup',
      metadata: { name: `move-${phase}` },
      spec: { cancel: true },
      ...(phase !== undefined && { status: { phase } }),
    })
    const phases = (PodVolumeBackupKind.phases?.phases ?? []) as readonly DataMovePhase[]
    assert.deepEqual(
      stillGoing('pod volume backup', [...phases, '' as const, undefined].map(move)),
      ['Accepted', 'Prepared', 'InProgress', 'Canceling'].map(
        phase => `error stopping the pod volume backup move-${phase}: it is still ${phase} after 60 seconds`,
      ),
    )
  })
})
