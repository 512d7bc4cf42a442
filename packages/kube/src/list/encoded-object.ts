import { apiVersionOf } from '../http/api-path.ts'
import type { KubeObject, ResourceType } from '../object.ts'
import { type JsonSpan, MemberWalk, readString, skipSpace } from './json-scan.ts'

/** An object as JSON, and so much of its metadata as tells what to do with it. */
export interface EncodedObject {
  readonly name: string
  /** Undefined for objects without one. */
  readonly namespace: string | undefined
  readonly labels: Readonly<Record<string, string>>
  /** Set when the object is being deleted. */
  readonly deletionTimestamp: string | undefined
  /**
   * As the server sent it, with apiVersion and kind put in where the server had left them out. May share memory with
   * its neighbours: who keeps one for long keeps them too.
   */
  readonly json: Uint8Array
}

const key = {
  kind: Buffer.from('kind'),
  quotedKind: Buffer.from('"kind"'),
  metadata: Buffer.from('metadata'),
  name: Buffer.from('name'),
  namespace: Buffer.from('namespace'),
  labels: Buffer.from('labels'),
  deletionTimestamp: Buffer.from('deletionTimestamp'),
}
const comma = Buffer.from(',')
const firstByteOfNull = 0x6e
const noLabels: Readonly<Record<string, string>> = Object.freeze({})

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Makes encoded objects of items of one kind. What it returns throws SyntaxError for what is no object with a name. */
export function decodeEncoded(type: ResourceType<KubeObject>): (json: Buffer) => EncodedObject {
  const identity = Buffer.from(`{"apiVersion":"${apiVersionOf(type)}","kind":"${type.kind}"`)
  return json => {
    const object: Mutable<EncodedObject> = {
      name: '',
      namespace: undefined,
      labels: noLabels,
      deletionTimestamp: undefined,
      json,
    }
    if (!scanObject(json, object)) object.json = withIdentity(json, identity)
    if (object.name === '') throw new SyntaxError('an item has no name')
    return object
  }
}

/** As `objectKey`. */
export function encodedKey({ namespace, name }: EncodedObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`
}

/** Fills in the metadata; true if the object says its kind. */
function scanObject(json: Buffer, object: Mutable<EncodedObject>): boolean {
  const members = new MemberWalk(json, 0)
  let hasKind = false
  let named = false
  while (members.next()) {
    if (members.keyIs(key.kind)) hasKind = true
    else if (members.keyIs(key.metadata)) {
      scanMetadata(json, members, object)
      named = true
    }
    // Built-in kinds begin with their metadata and have no kind: a search tells faster than walking over the rest.
    if (named && (hasKind || json.indexOf(key.quotedKind, members.to) < 0)) break
  }
  return hasKind
}

function scanMetadata(json: Buffer, metadata: JsonSpan, object: Mutable<EncodedObject>): void {
  const members = new MemberWalk(json, metadata.from)
  while (members.next()) {
    if (isNull(json, members)) continue
    if (members.keyIs(key.name)) object.name = readString(json, members)
    else if (members.keyIs(key.namespace)) object.namespace = readString(json, members)
    else if (members.keyIs(key.deletionTimestamp)) object.deletionTimestamp = readString(json, members)
    else if (members.keyIs(key.labels)) object.labels = readLabels(json, members)
  }
}

function readLabels(json: Buffer, { from, to }: JsonSpan): Record<string, string> {
  return JSON.parse(json.toString('utf8', from, to)) as Record<string, string>
}

function isNull(json: Buffer, { from }: JsonSpan): boolean {
  return json[from] === firstByteOfNull
}

function withIdentity(json: Buffer, identity: Buffer): Buffer {
  const open = skipSpace(json, 0)
  return Buffer.concat([identity, comma, json.subarray(open + 1)])
}
