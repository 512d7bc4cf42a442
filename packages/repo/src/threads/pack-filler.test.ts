import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { decompress } from '../compression/compressor.ts'
import { createContentEncryption } from '../encryption/content-encryption.ts'
import { createContentHash } from '../hashing/content-hash.ts'
import { PackFiller } from './pack-filler.ts'
import { SealedTable } from './sealed-table.ts'

const secret = Buffer.alloc(32, 1)
const hash = await createContentHash('BLAKE2B-256-128', secret)
const encryption = createContentEncryption({ name: 'AES256-GCM-HMAC-SHA256', secret })
const start = 32

function newFiller(length = 10_000): PackFiller {
  const filler = new PackFiller({ hash, encryption, start })
  filler.begin(new Uint8Array(length))
  return filler
}

/** Reads bytes into the pack. */
function hold(filler: PackFiller, bytes: Uint8Array): void {
  filler.room(bytes.length).set(bytes)
  filler.hold(bytes.length)
}

/** Seals the first bytes that are held and returns the table that proposes them. */
function seal(filler: PackFiller, length: number, compressor?: string): SealedTable {
  const name = filler.name(length)
  const table = SealedTable.withRoom(hash.length, 1)
  table.add(name, filler.seal(length, { hash: name, compressor }))
  filler.propose(table)
  return table
}

/** The contents that lie in a pack one after the other. */
function contentsIn(pack: Uint8Array, tables: readonly SealedTable[]): Buffer[] {
  let at = start
  return tables.map(table => {
    const sealed = pack.subarray(at, at + table.packedLength(0))
    at += sealed.length
    const data = encryption.decrypt(sealed, Buffer.from(table.id(0), 'hex'))
    return Buffer.from(table.compressionId(0) === 0 ? data : decompress(data))
  })
}

const [one, two, three] = [randomBytes(100), randomBytes(700), randomBytes(5)] as const
const yes = Uint8Array.of(1)
const no = Uint8Array.of(0)

describe('a pack that is filled in place', () => {
  it('holds its contents one after the other, whatever was read beyond a cut', () => {
    const filler = newFiller()
    hold(filler, Buffer.concat([one, two, three]))
    const tables = [one, two, three].map(({ length }) => seal(filler, length))
    for (const _ of tables) filler.decide(yes)
    assert.equal(filler.admittedLength, filler.length)
    assert.deepEqual(contentsIn(filler.release().buffer, tables), [one, two, three])
  })

  it('names contents by their hash', () => {
    const filler = newFiller()
    hold(filler, two)
    assert.deepEqual(filler.name(one.length), hash.hash(two.subarray(0, one.length)))
  })

  it('closes up what was not admitted, with more sealed and read behind it', () => {
    const filler = newFiller()
    hold(filler, Buffer.concat([one, two, three]))
    const tables = [seal(filler, one.length), seal(filler, two.length)]
    filler.decide(no)
    filler.decide(yes)
    tables.push(seal(filler, three.length))
    filler.decide(yes)
    assert.deepEqual(contentsIn(filler.release().buffer, tables.slice(1)), [two, three])
  })

  it('closes up single contents of a table', () => {
    const filler = newFiller()
    const table = SealedTable.withRoom(hash.length, 1)
    for (const bytes of [one, two, three]) {
      hold(filler, bytes)
      const name = filler.name(bytes.length)
      table.add(name, filler.seal(bytes.length, { hash: name, compressor: undefined }))
    }
    filler.propose(table)
    filler.decide(Uint8Array.of(1, 0, 1))
    const { buffer } = filler.release()
    const at = start + table.packedLength(0)
    const last = buffer.subarray(at, at + table.packedLength(2))
    assert.deepEqual(Buffer.from(encryption.decrypt(last, Buffer.from(table.id(2), 'hex'))), three)
  })

  it('takes what is undecided and unread along to the next pack', () => {
    const filler = newFiller()
    hold(filler, Buffer.concat([one, two, three]))
    const first = seal(filler, one.length)
    filler.decide(yes)
    const second = seal(filler, two.length)
    const { buffer, kept } = filler.release()
    assert.deepEqual(contentsIn(buffer, [first]), [one])
    filler.begin(new Uint8Array(10_000), { kept })
    filler.decide(yes)
    const third = seal(filler, three.length)
    filler.decide(yes)
    assert.deepEqual(contentsIn(filler.release().buffer, [second, third]), [two, three])
  })

  it('drops plaintext that nobody wants', () => {
    const filler = newFiller()
    hold(filler, Buffer.concat([one, two]))
    filler.drop(one.length)
    const table = seal(filler, two.length)
    filler.decide(yes)
    assert.deepEqual(contentsIn(filler.release().buffer, [table]), [two])
  })

  it('compresses a content where that makes it shorter, and only there', () => {
    const filler = newFiller()
    const text = Buffer.alloc(2000, 'text ')
    hold(filler, Buffer.concat([text, two, one]))
    const tables = [
      seal(filler, text.length, 'zstd'),
      seal(filler, two.length, 'zstd'),
      seal(filler, one.length),
    ]
    for (const _ of tables) filler.decide(yes)
    assert.ok(tables[0] && tables[0].packedLength(0) < 200)
    assert.equal(tables[1]?.compressionId(0), 0)
    assert.deepEqual(contentsIn(filler.release().buffer, tables), [text, two, one])
  })

  it('holds the content of an empty file', () => {
    const filler = newFiller()
    const table = seal(filler, 0)
    filler.decide(yes)
    assert.deepEqual(contentsIn(filler.release().buffer, [table]), [Buffer.alloc(0)])
  })
})

describe('a table of sealed contents', () => {
  it('comes back from its parts, grown beyond its room', () => {
    const table = SealedTable.withRoom(16, 1)
    for (let at = 1; at <= 5; at++) {
      table.add(Buffer.alloc(16, at), {
        packedLength: at,
        originalLength: 10 * at,
        compressionId: 0x1100 + at,
      })
    }
    const same = SealedTable.from(table.parts())
    assert.equal(same.count, 5)
    assert.equal(same.id(4), '05'.repeat(16))
    assert.deepEqual([same.packedLength(2), same.originalLength(2), same.compressionId(2)], [3, 30, 0x1103])
  })
})
