import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { GroupResource } from '../../item/item.ts'
import { serializeItem } from '../../item/item-json.ts'
import type { ArchivedItem, BackupArchive } from './backup-archive.ts'
import { readObject } from './read-object.ts'

const web: ArchivedItem = {
  groupResource: 'pods' as GroupResource,
  namespace: 'shop',
  name: 'web',
  version: '',
  index: 0,
}

function archiveOf(text: string): BackupArchive {
  const only: Pick<BackupArchive, 'load'> = { load: () => Promise.resolve(Buffer.from(text)) }
  return only as BackupArchive
}

function objectText(more: object): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'shop' },
    ...more,
  })
}

describe('readObject', () => {
  it('gives the object, large integers included', async () => {
    const text = objectText({ spec: 1 }).replace('"spec":1', '"spec":12345678901234567890')
    const object = await readObject(archiveOf(text), web)
    assert.equal(object.kind, 'Pod')
    assert.equal(Buffer.from(serializeItem(object)).toString(), text)
  })

  const path = 'resources/pods/namespaces/shop/web.json'
  const refused: Record<string, { text: string; item?: ArchivedItem; message: RegExp | string }> = {
    'what is no JSON': { text: '{"a":', message: new RegExp(`^error decoding "${path}": .*JSON`) },
    'an empty entry': { text: '', message: /JSON/ },
    'a list': { text: '[]', message: `error decoding "${path}": it is no object` },
    'an object without a version': {
      text: objectText({ apiVersion: undefined }),
      message: `error decoding "${path}": Object 'apiVersion' is missing`,
    },
    'an object without a kind': {
      text: objectText({ kind: 1 }),
      message: `error decoding "${path}": Object 'Kind' is missing`,
    },
    'an object without metadata': { text: objectText({ metadata: [] }), message: /metadata not found$/ },
    'an object of another name': {
      text: objectText({ metadata: { name: 'db', namespace: 'shop' } }),
      message: /it is called "db"$/,
    },
    'an object of another namespace': {
      text: objectText({ metadata: { name: 'web', namespace: 'kube-system' } }),
      message: /it is of the namespace "kube-system"$/,
    },
    'what is nested too deep': {
      text: objectText({ spec: 0 }).replace('"spec":0', `"spec":${'['.repeat(5000)}${']'.repeat(5000)}`),
      message: /nested more than 1000 deep$/,
    },
    'and says which version it was': {
      text: '',
      item: { ...web, version: 'v2' },
      message: /"resources\/pods\/v2\/namespaces\/shop\/web.json"/,
    },
  }
  for (const [what, { text, item = web, message }] of Object.entries(refused)) {
    it(`refuses ${what}`, async () => {
      await assert.rejects(readObject(archiveOf(text), item), {
        name: 'ArchivedObjectError',
        code: 'ARCHIVED_OBJECT_INVALID',
        message,
      })
    })
  }

  it('does not count brackets in texts', async () => {
    const note = `\\"${'[{'.repeat(3000)}`
    const object = await readObject(archiveOf(objectText({ note })), web)
    assert.equal(Reflect.get(object, 'note'), note)
  })
})
