import { isJsonObject } from '../items/same-json.ts'
import type { JsonObject } from './copy-json.ts'
import { type JsonOperation, type Pointer, parsePointer } from './json-patch.ts'
import type { LinedReader } from './lined-reader.ts'
import { parsePatchValue, parseText } from './patch-value.ts'
import type { RulePatch } from './resource-modifiers.ts'
import { readYaml } from './yaml-text.ts'

/** The lists of patches of a rule, of which one may be given. */
export interface PatchLists {
  patches?: unknown
  mergePatches?: unknown
  strategicPatches?: unknown
}

/** Reads the patches of a rule; what is wrong with them is added to the reader's problems. */
export function parseRulePatch(reader: LinedReader, lists: PatchLists, path: string): RulePatch {
  const operations = reader.items(lists.patches, `${path}.patches`)
  const merges = reader.items(lists.mergePatches, `${path}.mergePatches`)
  const strategic = reader.items(lists.strategicPatches, `${path}.strategicPatches`)
  const given = [operations, merges, strategic].filter(list => list.length > 0).length
  if (given === 0)
    reader.problem(path, 'no patch data found (one of patches, mergePatches, strategicPatches is needed)')
  if (given > 1) reader.problem(path, 'only one of patches, mergePatches, strategicPatches can be specified')
  const read: RulePatch = {
    kind: 'json',
    operations: operations.flatMap(({ item, path: each }) => readOperation(reader, item, each)),
  }
  const patches = [...merges, ...strategic].flatMap(({ item, path: each }) =>
    readPatchData(reader, item, each),
  )
  if (operations.length > 0) return read
  return { kind: merges.length > 0 ? 'merge' : 'strategic', patches }
}

/** A path into an object. Undefined, with a problem, for what is none. */
export function readPointer(reader: LinedReader, value: unknown, path: string): Pointer | undefined {
  const given = reader.text(value, path)
  const text = parseText(given)
  const pointer = 'value' in text ? parsePointer(String(text.value)) : undefined
  if (given === '') reader.problem(path, 'path cannot be empty')
  else if ('problem' in text) reader.problem(path, text.problem)
  else if (pointer === undefined) {
    reader.problem(path, `${JSON.stringify(given)} must begin with a slash, such as /spec/replicas`)
  }
  return pointer
}

/** A value in the notation of rules; undefined, with a problem, for what is none. */
export function readValue(reader: LinedReader, value: unknown, path: string): unknown {
  const read = parsePatchValue(reader.text(value, path))
  if ('value' in read) return read.value
  reader.problem(path, read.problem)
  return undefined
}

function readOperation(reader: LinedReader, value: unknown, path: string): JsonOperation[] {
  const fields = reader.fields(value, path, ['operation', 'from', 'path', 'value'])
  const op = reader.text(fields.operation, `${path}.operation`).toLowerCase()
  const target = readPointer(reader, fields.path, `${path}.path`)
  switch (op) {
    case 'add':
    case 'replace':
    case 'test': {
      const wanted = readValue(reader, fields.value, `${path}.value`)
      return target === undefined ? [] : [{ op, path: target, value: wanted }]
    }
    case 'remove':
      return target === undefined ? [] : [{ op, path: target }]
    case 'copy':
    case 'move': {
      const from = readPointer(reader, fields.from, `${path}.from`)
      return target === undefined || from === undefined ? [] : [{ op, from, path: target }]
    }
    default: {
      const reason =
        op === '' ? 'operation cannot be empty' : `unsupported operation ${String(fields.operation)}`
      reader.problem(`${path}.operation`, `${reason} (one of add, remove, replace, test, move, copy)`)
      return []
    }
  }
}

/** The patch in `patchData`, a text of YAML or JSON. */
function readPatchData(reader: LinedReader, value: unknown, path: string): JsonObject[] {
  const { patchData } = reader.fields(value, path, ['patchData'])
  const place = `${path}.patchData`
  const text = reader.text(patchData, place)
  const yaml = readYaml(text)
  if ('problems' in yaml) {
    for (const { line, reason } of yaml.problems)
      reader.problemAt(reader.lineInside(place, line), place, reason)
    return []
  }
  if (isJsonObject(yaml.value)) return [yaml.value]
  reader.problem(place, 'the text must be a mapping in YAML or JSON')
  return []
}
