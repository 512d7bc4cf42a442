import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { allKinds } from './all-kinds.ts'
import { canMove, isTerminal, phaseOrStart, terminalPhases } from './phase-machine.ts'
import { BackupKind } from './v1/backup.ts'
import { BackupStorageLocationKind } from './v1/backup-storage-location.ts'
import { RestoreKind } from './v1/restore.ts'
import { VolumeSnapshotLocationKind } from './v1/volume-snapshot-location.ts'
import { DataUploadKind } from './v2alpha1/data-upload.ts'

const kindsWithMoves = allKinds.flatMap(kind => (kind.phases ? [{ kind, machine: kind.phases }] : []))
const anyKind = fc.constantFrom(...kindsWithMoves)

/** The phases that a walk along the moves can come to. */
function reachable({ kind, machine }: (typeof kindsWithMoves)[number]): Set<string> {
  const seen = new Set([phaseOrStart(kind, undefined)])
  for (const phase of seen) {
    for (const to of machine.phases) if (canMove(kind, phase, to)) seen.add(to)
  }
  return seen
}

describe('phases', () => {
  it('move in twelve kinds; only volume snapshot locations have phases that nobody sets', () => {
    assert.equal(kindsWithMoves.length, 12)
    assert.equal(canMove(VolumeSnapshotLocationKind, 'Available', 'Unavailable'), false)
  })

  for (const each of kindsWithMoves) {
    const { kind, machine } = each
    describe(`of ${kind.kind}`, () => {
      it('are those of the schema, in its order', () => {
        assert.deepEqual(machine.phases, kind.schema.status.properties?.phase?.enum)
      })

      it('are the ends of every move, and no move is there twice or stays in place', () => {
        const known = new Set<string>(machine.phases)
        for (const { from, to } of machine.moves) {
          assert.ok(known.has(to), to)
          assert.ok(from === '' ? !known.has('New') : known.has(from), from)
          assert.notEqual(from, to)
        }
        const pairs = machine.moves.map(({ from, to }) => `${from} ${to}`)
        assert.equal(new Set(pairs).size, pairs.length)
      })

      it('can all be reached from the start', () => {
        const unreachable = machine.phases.filter(phase => !reachable(each).has(phase))
        assert.deepEqual(unreachable, [])
      })

      it('have no exit when terminal, but for a backup that is deleted', () => {
        for (const phase of terminalPhases(kind)) {
          const exits = machine.phases.filter(to => canMove(kind, phase, to))
          assert.deepEqual(exits, kind.kind === 'Backup' ? ['Deleting'] : [], phase)
        }
      })

      it('have an exit when not terminal, but for a backup that is being deleted', () => {
        const stuck = machine.phases.filter(
          phase => !isTerminal(kind, phase) && !machine.phases.some(to => canMove(kind, phase, to)),
        )
        assert.deepEqual(stuck, kind.kind === 'Backup' ? ['Deleting'] : [])
      })
    })
  }

  it('that are empty or missing count as New where there is a New', () => {
    fc.assert(
      fc.property(anyKind, ({ kind, machine }) => {
        const start = machine.phases.includes('New') ? 'New' : ''
        for (const none of ['', undefined] as const) {
          assert.equal(phaseOrStart(kind, none), start)
          for (const to of machine.phases) assert.equal(canMove(kind, none, to), canMove(kind, start, to))
        }
      }),
    )
  })

  it('end after any walk that does not go in circles, in kinds whose work ends', () => {
    const ending = fc.constantFrom(...kindsWithMoves.filter(({ machine }) => machine.terminal.length > 0))
    fc.assert(
      fc.property(ending, fc.infiniteStream(fc.nat()), ({ kind, machine }, choices) => {
        let phase: string = phaseOrStart(kind, undefined)
        for (let steps = 0; !isTerminal(kind, phase); steps++) {
          assert.ok(steps < machine.phases.length, `${kind.kind} goes in circles at ${phase}`)
          const exits = machine.phases.filter(to => canMove(kind, phase, to))
          // That phase ends with the object.
          if (phase === 'Deleting') return assert.deepEqual(exits, [])
          phase = exits[choices.next().value! % exits.length]!
        }
      }),
    )
  })

  it('that no kind knows are no place to go', () => {
    fc.assert(
      fc.property(anyKind, fc.string(), ({ kind, machine }, word) => {
        fc.pre(!machine.phases.includes(word))
        for (const from of machine.phases) assert.equal(canMove(kind, from, word), false)
      }),
    )
  })

  it('of a backup go through the queue', () => {
    assert.equal(canMove(BackupKind, '', 'Queued'), true)
    assert.equal(canMove(BackupKind, 'New', 'InProgress'), false)
    assert.equal(canMove(BackupKind, 'Completed', 'InProgress'), false)
    assert.equal(canMove(BackupKind, 'FinalizingPartiallyFailed', 'Completed'), false)
  })

  it('of a restore have no queue, and the last steps may still spoil it', () => {
    assert.equal(canMove(RestoreKind, undefined, 'InProgress'), true)
    assert.equal(canMove(RestoreKind, 'Finalizing', 'PartiallyFailed'), true)
  })

  it('of an upload can be canceled until it is over', () => {
    assert.equal(canMove(DataUploadKind, 'Prepared', 'Canceled'), true)
    assert.equal(canMove(DataUploadKind, 'InProgress', 'Canceling'), true)
    assert.equal(canMove(DataUploadKind, 'Completed', 'Canceled'), false)
  })

  it('of a storage location come and go', () => {
    assert.equal(canMove(BackupStorageLocationKind, undefined, 'Unavailable'), true)
    assert.equal(canMove(BackupStorageLocationKind, 'Unavailable', 'Available'), true)
  })
})
