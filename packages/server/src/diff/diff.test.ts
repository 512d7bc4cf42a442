import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { comparable } from './comparable.ts'
import { diffLines } from './diff-lines.ts'
import { fieldChanges } from './field-changes.ts'
import { createSecretMask } from './mask-secrets.ts'
import { objectLines } from './object-text.ts'
import { unifiedDiff } from './unified-diff.ts'

const texts = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 30 })

describe('diffLines', () => {
  it('is a way from one text to the other', () => {
    fc.assert(
      fc.property(texts, texts, (before, after) => {
        const lines = diffLines(before, after)
        const side = (own: string) => lines.filter(({ sign }) => sign === ' ' || sign === own)
        assert.deepEqual(
          side('-').map(({ text }) => text),
          before,
        )
        assert.deepEqual(
          side('+').map(({ text }) => text),
          after,
        )
      }),
    )
  })

  it('changes as little as there is to change', () => {
    fc.assert(
      fc.property(texts, texts, (before, after) => {
        const kept = diffLines(before, after).filter(({ sign }) => sign === ' ').length
        assert.equal(kept, longestCommon(before, after))
      }),
    )
  })

  it('gives up on texts that have nothing in common, and still ends', () => {
    const before = Array.from({ length: 20_000 }, (_, index) => `old ${index}`)
    const after = Array.from({ length: 20_000 }, (_, index) => `new ${index}`)
    assert.equal(diffLines(before, after).length, 40_000)
  })
})

/** By the usual table. */
function longestCommon(a: readonly string[], b: readonly string[]): number {
  let row = Array<number>(b.length + 1).fill(0)
  for (const left of a) {
    const next = [0]
    for (const [index, right] of b.entries()) {
      next.push(left === right ? (row[index] ?? 0) + 1 : Math.max(row[index + 1] ?? 0, next[index] ?? 0))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

describe('unifiedDiff', () => {
  it('makes the second text from the first, hunk by hunk', () => {
    fc.assert(
      fc.property(texts, texts, (before, after) => {
        const lines = unifiedDiff({ before, after, names: { before: 'a', after: 'b' } })
        assert.deepEqual(applied(before, lines), after)
      }),
    )
  })

  it('shows three lines around what differs, and leaves out the rest', () => {
    const before = Array.from({ length: 20 }, (_, index) => `line ${index}`)
    const after = before.toSpliced(10, 1, 'other')
    assert.deepEqual(unifiedDiff({ before, after, names: { before: 'a', after: 'b' } }), [
      '--- a',
      '+++ b',
      '@@ -8,7 +8,7 @@',
      ' line 7',
      ' line 8',
      ' line 9',
      '-line 10',
      '+other',
      ' line 11',
      ' line 12',
      ' line 13',
    ])
  })

  it('is nothing for the same text', () => {
    assert.deepEqual(unifiedDiff({ before: ['a'], after: ['a'], names: { before: 'x', after: 'y' } }), [])
  })
})

/** What a program that reads unified diffs makes of it. */
function applied(before: readonly string[], diff: readonly string[]): string[] {
  const made: string[] = []
  let at = 0
  for (const each of diff.slice(2)) {
    const [, start, count] = /^@@ -(\d+),(\d+) /.exec(each) ?? []
    if (start !== undefined) {
      const first = count === '0' ? Number(start) : Number(start) - 1
      made.push(...before.slice(at, first))
      at = first
    } else if (each.startsWith('+')) made.push(each.slice(1))
    else {
      assert.equal(before[at], each.slice(1))
      if (each.startsWith(' ')) made.push(each.slice(1))
      at++
    }
  }
  return [...made, ...before.slice(at)]
}

describe('fieldChanges', () => {
  it('names what differs as deep as it can, elements of lists by their names', () => {
    const before = {
      spec: { replicas: 1, containers: [{ name: 'a', image: 'one' }, { name: 'b' }] },
      gone: null,
    }
    const after = { spec: { replicas: 2, containers: [{ name: 'a', image: 'two' }], 'x.y': true } }
    assert.deepEqual(fieldChanges(before, after), [
      { path: 'gone', before: null },
      { path: 'spec.containers[a].image', before: 'one', after: 'two' },
      { path: 'spec.containers[b]', before: { name: 'b' } },
      { path: 'spec.replicas', before: 1, after: 2 },
      { path: 'spec["x.y"]', after: true },
    ])
  })

  it('goes by place where names do not tell elements apart, and sees another order', () => {
    assert.deepEqual(fieldChanges({ l: [1, 2] }, { l: [1, 3, 4] }), [
      { path: 'l[1]', before: 2, after: 3 },
      { path: 'l[2]', after: 4 },
    ])
    const [a, b] = [{ name: 'a' }, { name: 'b' }]
    assert.deepEqual(fieldChanges({ l: [a, b] }, { l: [b, a] }), [
      { path: 'l', before: [a, b], after: [b, a] },
    ])
  })
})

describe('createSecretMask', () => {
  const mask = createSecretMask(Buffer.alloc(32, 1))
  const secret = (data: Record<string, string>) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 's',
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"data":"hush"}' },
    },
    data,
  })

  it('hides values, shows which are the same, and changes nothing', () => {
    const object = secret({ a: 'c2VjcmV0', b: 'c2VjcmV0', c: 'b3RoZXI=' })
    const before = JSON.stringify(object)
    const { data, metadata } = mask(object) as ReturnType<typeof secret>
    assert.equal(data.a, data.b)
    assert.notEqual(data.a, data.c)
    assert.doesNotMatch(JSON.stringify({ data, metadata }), /c2VjcmV0|b3RoZXI|hush/)
    assert.equal(JSON.stringify(object), before)
  })

  it('hides differently under another key', () => {
    const object = secret({ a: 'c2VjcmV0' })
    assert.notDeepEqual(mask(object), createSecretMask(Buffer.alloc(32, 2))(object))
  })

  it('leaves other objects alone', () => {
    const object = { ...secret({ a: 'x' }), kind: 'ConfigMap' }
    assert.equal(mask(object), object)
  })
})

describe('comparable', () => {
  it('leaves out what changes by itself', () => {
    const object = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'p',
        uid: 'u',
        resourceVersion: '1',
        generation: 2,
        managedFields: [],
        labels: { a: 'b' },
      },
      status: { phase: 'Running' },
    }
    const rest = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', labels: { a: 'b' } } }
    assert.deepEqual(comparable(object, { withStatus: false }), rest)
    assert.deepEqual(comparable(object, { withStatus: true }), { ...rest, status: { phase: 'Running' } })
  })
})

describe('objectLines', () => {
  it('keeps long integers, and sorts keys', () => {
    const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): unknown }
    assert.deepEqual(objectLines({ b: rawJSON('12345678901234567890'), a: 'x' }), [
      'a: x',
      'b: 12345678901234567890',
    ])
  })
})
