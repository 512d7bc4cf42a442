import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createKubeClient, loadKubeConfig } from '@lateen/kube'
import type { JsonObject } from '../../packages/server/src/restore/modifiers/copy-json.ts'
import { patchSchemaOf } from '../../packages/server/src/restore/modifiers/patch-schema.ts'
import { patchFields, patchKinds } from '../../packages/server/src/restore/modifiers/patch-strategies.ts'
import { mergeStrategically } from '../../packages/server/src/restore/modifiers/strategic-merge.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { patchTable } from '../../tools/gen/patch-strategies.ts'

const given = await givenCluster()

interface Patched extends JsonObject {
  apiVersion: string
  kind: string
}

describe('strategic merge patches', { skip: given.skip }, () => {
  it('treat the types of an API server as it says in its OpenAPI document', async () => {
    const config = await loadKubeConfig({ path: given.cluster.kubeconfigPath })
    await using client = await createKubeClient({ config })
    const live = patchTable(JSON.parse(await client.getRaw('/openapi/v2')).definitions)
    for (const [apiVersion, { types, kinds }] of live.kinds) {
      const known = patchKinds[apiVersion]
      // Definitions of custom resources are in the document, too.
      if (known === undefined) continue
      assert.equal(types, known.types)
      for (const kind of kinds) {
        assert.ok(known.kinds.includes(kind), `${apiVersion} ${kind} is not in the table`)
        assert.equal(live.fields.get(`${types}.${kind}`), patchFields[`${types}.${kind}`])
      }
    }
    assert.ok(live.kinds.has('v1') && live.kinds.has('apps/v1') && live.kinds.has('batch/v1'))
    for (const [type, fields] of live.fields) {
      if (type in patchFields) assert.equal(fields, patchFields[type], type)
    }
  })

  const deployment: Patched = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', finalizers: ['a/b', 'c/d'], labels: { app: 'web', tier: 'front' } },
    spec: {
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } },
      template: {
        spec: {
          containers: [
            {
              name: 'web',
              image: 'web:1',
              env: [
                { name: 'A', value: '1' },
                { name: 'B', value: '2' },
              ],
              args: ['x'],
            },
            { name: 'proxy', image: 'proxy:1', ports: [{ containerPort: 80, protocol: 'TCP' }] },
          ],
          volumes: [
            { name: 'data', emptyDir: {} },
            { name: 'logs', emptyDir: {} },
          ],
          tolerations: [{ key: 'a' }],
        },
      },
    },
  }
  const podSpec = (spec: object) => ({ spec: { template: { spec } } })
  const patches: { what: string; patch: JsonObject }[] = [
    { what: 'an image', patch: podSpec({ containers: [{ name: 'web', image: 'web:2' }] }) },
    {
      what: 'a new container and a variable',
      patch: podSpec({ containers: [{ name: 'new' }, { name: 'web', env: [{ name: 'C', value: '3' }] }] }),
    },
    { what: 'a container less', patch: podSpec({ containers: [{ name: 'web', $patch: 'delete' }] }) },
    { what: 'other containers', patch: podSpec({ containers: [{ $patch: 'replace' }, { name: 'only' }] }) },
    {
      what: 'another kind of volume',
      patch: podSpec({
        volumes: [{ name: 'data', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x' } }],
      }),
    },
    { what: 'another strategy', patch: { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } } },
    {
      what: 'an order of volumes',
      patch: podSpec({ '$setElementOrder/volumes': [{ name: 'logs' }, { name: 'data' }] }),
    },
    {
      what: 'finalizers less and more',
      patch: { metadata: { '$deleteFromPrimitiveList/finalizers': ['a/b'], finalizers: ['e/f'] } },
    },
    {
      what: 'tolerations and labels',
      patch: { metadata: { labels: { tier: null, x: 'y' } }, ...podSpec({ tolerations: [{ key: 'b' }] }) },
    },
    { what: 'arguments', patch: podSpec({ containers: [{ name: 'web', args: ['y', 'z'] }] }) },
  ]
  for (const { what, patch } of patches) {
    it(`come to the same as with kubectl for ${what}`, async () => {
      const schema = patchSchemaOf(deployment)
      assert.ok(schema)
      const ours = mergeStrategically(structuredClone(deployment), structuredClone(patch), schema)
      const flags = [
        'patch',
        '--local',
        '--type',
        'strategic',
        '-f',
        '-',
        '-p',
        JSON.stringify(patch),
        '-o',
        'json',
      ]
      const theirs = JSON.parse(await given.cluster.kubectl(flags, { stdin: JSON.stringify(deployment) }))
      assert.deepEqual(withoutEmpty(ours), withoutEmpty(theirs))
    })
  }
})

/** kubectl writes objects as its types have them: with empty structures, and without empty values. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(each => withoutEmpty(each) ?? {})
  if (typeof value !== 'object' || value === null) return value ?? undefined
  const kept = Object.entries(value).flatMap(([name, each]): [string, unknown][] => {
    const inner = withoutEmpty(each)
    return inner === undefined ? [] : [[name, inner]]
  })
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}
