import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { decodeEncoded } from './encoded-object.ts'

const type = { group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true }
const identity = { apiVersion: 'example.com/v1', kind: 'Widget' }
const decode = decodeEncoded(type)
const decodeText = (text: string) => decode(Buffer.from(text))

const text = fc.string({ unit: 'grapheme' })
const value = fc
  .jsonValue({ noUnicodeString: false })
  .map(given => JSON.parse(JSON.stringify(given)) as unknown)
const others = (...taken: string[]) =>
  fc.dictionary(
    text.filter(key => ![...taken, '__proto__'].includes(key)),
    value,
    { maxKeys: 3, noNullPrototype: true },
  )
const shuffled = (members: object, order: number) => {
  const entries = Object.entries(members)
  return Object.fromEntries([
    ...entries.slice(order % entries.length),
    ...entries.slice(0, order % entries.length),
  ])
}
const metadata = fc.record(
  {
    name: text.filter(name => name !== ''),
    namespace: text,
    deletionTimestamp: text,
    labels: fc.dictionary(
      text.filter(key => key !== '__proto__'),
      text,
      { maxKeys: 3, noNullPrototype: true },
    ),
    rest: others('name', 'namespace', 'deletionTimestamp', 'labels'),
  },
  { requiredKeys: ['name'] },
)

describe('An encoded object', () => {
  it('is the object that JSON.parse finds, with apiVersion and kind, however it is written', () => {
    fc.assert(
      fc.property(
        fc.record({
          metadata,
          members: others('metadata', 'kind', 'apiVersion'),
          said: fc.boolean(),
          order: fc.nat(),
          space: fc.constantFrom(undefined, 1, '\t'),
        }),
        ({ metadata: { rest = {}, ...known }, members, said, order, space }) => {
          const item = shuffled(
            { ...(said && identity), metadata: shuffled({ ...known, ...rest }, order), ...members },
            order,
          )
          const object = decodeText(JSON.stringify(item, null, space))
          assert.deepEqual(JSON.parse(Buffer.from(object.json).toString()), { ...identity, ...item })
          const { json: _, ...found } = object
          const absent = { namespace: undefined, deletionTimestamp: undefined, labels: {} }
          assert.deepEqual(found, { ...absent, ...known })
        },
      ),
      { numRuns: 1000 },
    )
  })

  it('keeps its bytes where the server said the kind', () => {
    const json = Buffer.from(
      '{ "kind":"Widget", "apiVersion":"example.com/v1", "metadata":{"name":"a"}, "n":12345678901234567890 }',
    )
    assert.equal(decode(json).json, json)
  })

  it('takes null for nothing', () => {
    const { namespace, labels } = decodeText('{"metadata":{"name":"a","namespace":null,"labels":null}}')
    assert.deepEqual({ namespace, labels }, { namespace: undefined, labels: {} })
  })

  it('is not made of a kind that stands elsewhere', () => {
    const owned = decodeText(
      '{"metadata":{"name":"a","ownerReferences":[{"kind":"Owner"}]},"spec":{"kind":"x"}}',
    )
    assert.equal(JSON.parse(Buffer.from(owned.json).toString()).kind, 'Widget')
  })

  it('is refused where JSON breaks off or has no name', () => {
    const broken = [
      '',
      '{',
      '[]',
      'null',
      '{"metadata":{"name":"a"',
      '{"metadata":{"name":1}}',
      '{"metadata" "x"}',
      '{"a":}',
      '{"metadata":{}}',
      '{"a":1 "b"',
    ]
    for (const text of broken) assert.throws(() => decodeText(text), SyntaxError, text)
  })
})
