import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { Spool } from './spool.ts'
import { SpoolReader } from './spool-reader.ts'

describe('A spool', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-spool-'))
  })
  after(() => rm(folder, { recursive: true }))

  it('gives back what was appended, in any order and from several places at once', async () => {
    const sizes = fc.array(fc.oneof(fc.nat({ max: 3000 }), fc.nat({ max: 600_000 })), { maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(sizes, fc.infiniteStream(fc.nat()), async (lengths, picks) => {
        await using first = await Spool.create(path.join(folder, 'a'))
        await using second = await Spool.create(path.join(folder, 'b'))
        const spools = [first, second]
        const places = lengths.map((length, number) => {
          const file = number % 2
          const bytes = Buffer.alloc(length, `${number},`)
          return { place: { file, offset: spools[file]!.append(bytes), length }, bytes }
        })
        await Promise.all(spools.map(spool => spool.flush()))
        const reader = new SpoolReader(spools)
        const inOrder = places.map(({ place }) => reader.read(place))
        const read = await Promise.all(inOrder)
        for (const [number, { bytes }] of places.entries()) assert.ok(bytes.equals(read[number]!))
        for (let pick = 0; pick < places.length; pick++) {
          const { place, bytes } = places[(picks.next().value ?? 0) % places.length]!
          assert.ok(bytes.equals(await reader.read(place)))
        }
      }),
      { numRuns: 30 },
    )
  })

  it('asks to wait when more is appended than the disk has taken', async () => {
    await using spool = await Spool.create(path.join(folder, 'a'))
    let appended = 0
    while (spool.ready() === undefined) appended += spool.append(Buffer.alloc(50_000)) && 50_000
    assert.ok(appended < 2_000_000, `${appended} bytes were held`)
    await spool.ready()
    assert.equal(spool.ready(), undefined)
  })

  it('says in one clear error that scratch is full', async () => {
    const full = path.join(folder, 'full')
    await symlink('/dev/full', full)
    await using spool = await Spool.create(full)
    spool.append(Buffer.alloc(1000))
    await assert.rejects(spool.flush(), {
      name: 'ScratchError',
      code: 'SCRATCH_FULL',
      message: `the scratch space is full: cannot write ${full}`,
    })
    assert.throws(() => spool.ready(), { code: 'SCRATCH_FULL' })
  })

  it('leaves no file behind', async () => {
    {
      await using spool = await Spool.create(path.join(folder, 'a'))
      spool.append(Buffer.alloc(1_000_000))
    }
    assert.deepEqual(await readdir(folder), [])
  })

  it('cannot be made where there is no folder', async () => {
    await assert.rejects(Spool.create(path.join(folder, 'no', 'a')), { code: 'SCRATCH_FAILED' })
  })
})
