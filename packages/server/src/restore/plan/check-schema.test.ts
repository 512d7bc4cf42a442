import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { schemaProblems } from './check-schema.ts'
import type { Schema, SchemaRules } from './schema.ts'

const strict: SchemaRules = { strict: true, resolve: () => undefined }
const object = (spec: unknown) => ({ apiVersion: 'a/v1', kind: 'K', metadata: { name: 1 }, spec })

function problems(schema: Schema, spec: unknown, rules = strict): string[] {
  return schemaProblems({ type: 'object', properties: { spec: schema } }, object(spec), rules)
}

describe('schemaProblems of custom resources', () => {
  const refused: [string, Schema, unknown, string][] = [
    [
      'another type',
      { type: 'integer' },
      1.5,
      'spec: Invalid value: "number": spec in body must be of type integer: "number"',
    ],
    ['a missing field', { type: 'object', required: ['a'] }, {}, 'spec.a: Required value'],
    [
      'null',
      { type: 'string' },
      null,
      'spec: Invalid value: "null": spec in body must be of type string: "null"',
    ],
    [
      'a value that is not in the list',
      { type: 'string', enum: ['a', 'b'] },
      'c',
      'spec: Unsupported value: "c": supported values: "a", "b"',
    ],
    [
      'a text that does not match',
      { type: 'string', pattern: '^a+$' },
      'b',
      `spec: Invalid value: "b": spec in body should match '^a+$'`,
    ],
    [
      'a number that is too small',
      { type: 'integer', minimum: 1 },
      0,
      'spec: Invalid value: 0: spec in body should be greater than or equal to 1',
    ],
    [
      'a list that is too long',
      { type: 'array', maxItems: 1 },
      [1, 2],
      'spec: Invalid value: [1,2]: spec in body should have at most 1 items',
    ],
    [
      'neither integer nor text',
      { 'x-kubernetes-int-or-string': true },
      true,
      'spec: Invalid value: "boolean": spec in body must be of type integer or string: "boolean"',
    ],
  ]
  for (const [what, schema, value, problem] of refused) {
    it(`refuses ${what}`, () => assert.deepEqual(problems(schema, value), [problem]))
  }

  const taken: [string, Schema, unknown][] = [
    ['fields that are not known, which the server drops', { type: 'object', properties: {} }, { x: 1 }],
    [
      'a missing field with a default',
      { type: 'object', required: ['a'], properties: { a: { default: 1 } } },
      {},
    ],
    ['null where it is allowed', { type: 'string', nullable: true }, null],
    ['an integer for a number', { type: 'number' }, 1],
    ['a pattern that cannot be read', { type: 'string', pattern: '(?=a)' }, 'b'],
    ['one of several', { anyOf: [{ type: 'string' }, { type: 'integer' }] }, 1],
  ]
  for (const [what, schema, value] of taken) {
    it(`takes ${what}`, () => assert.deepEqual(problems(schema, value), []))
  }

  it('looks into lists, maps and alternatives', () => {
    const schema: Schema = {
      type: 'object',
      properties: { l: { type: 'array', items: { type: 'string' } } },
      additionalProperties: { allOf: [{ type: 'boolean' }] },
    }
    assert.deepEqual(problems(schema, { l: ['a', 1], m: 2 }), [
      'spec.l[1]: Invalid value: "integer": spec.l[1] in body must be of type string: "integer"',
      'spec.m: Invalid value: "integer": spec.m in body must be of type boolean: "integer"',
    ])
  })

  it('ends on schemas that refer to themselves', () => {
    const self: Schema = { allOf: [{ $ref: 'self' }] }
    assert.deepEqual(problems(self, {}, { strict: true, resolve: () => self }), [])
  })
})

describe("schemaProblems of the server's own types", () => {
  const schemas: Record<string, Schema> = {
    quantity: { oneOf: [{ type: 'string' }, { type: 'number' }] },
    port: {
      type: 'object',
      required: ['port'],
      properties: { port: { type: 'integer' }, name: { type: 'string' } },
    },
  }
  const rules: SchemaRules = { strict: false, resolve: reference => schemas[reference] }

  it('refuses only what cannot be decoded', () => {
    const schema: Schema = {
      type: 'object',
      properties: { size: { $ref: 'quantity' }, ports: { type: 'array', items: { $ref: 'port' } } },
    }
    assert.deepEqual(problems(schema, { size: 1, ports: [{ name: null }, {}] }, rules), [])
    assert.deepEqual(problems(schema, { ports: [{ port: 'http' }] }, rules), [
      'spec.ports[0].port: must be of type integer: "string"',
    ])
  })
})
