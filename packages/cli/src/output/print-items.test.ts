import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { itemsAsJson, itemsAsYaml } from './print-items.ts'

const documents = [
  { head: { backup: 'a' }, list: [], tail: { counts: { x: 1 } } },
  { head: {}, list: [{ name: 'a: b', deep: { list: [1, { y: '-' }] } }, { name: 'c' }], tail: {} },
  { head: { a: 1, b: ['c'] }, list: [{ text: 'two\nlines' }], tail: { last: [] } },
]

describe('Documents with a long list', () => {
  for (const { head, list, tail } of documents) {
    const whole = { ...head, items: list, ...tail }
    async function* items() {
      yield* list
    }
    const document = { head, items: items(), tail: () => tail }

    it(`are what they would be in one piece: ${JSON.stringify(whole)}`, async () => {
      const json = (await Array.fromAsync(itemsAsJson(document))).join('')
      assert.equal(json, `${JSON.stringify(whole, null, 2)}\n`)
      const yaml = (await Array.fromAsync(itemsAsYaml({ ...document, items: items() }))).join('')
      assert.deepEqual(parse(yaml), whole)
    })
  }
})
