import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Restore } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import { RestoreActionError } from './restore-action-error.ts'
import { serviceAction } from './service-action.ts'

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

function restoreWith(spec: Restore['spec'] = {}): Restore {
  return { apiVersion: 'velero.io/v1', kind: 'Restore', metadata: { name: 'r', namespace: 'velero' }, spec }
}

function service(spec: object, metadata: object = {}): ActionItem {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop', ...metadata },
    spec,
  }
}

const applied = (spec: object) => ({ annotations: { [lastApplied]: JSON.stringify({ spec }) } })
const owned = (fields: object) => ({
  managedFields: [
    { manager: 'status', subresource: 'status' },
    { manager: 'kubectl', fieldsV1: { 'f:spec': fields } },
  ],
})

async function restored(item: ActionItem, spec: Restore['spec'] = {}): Promise<unknown> {
  const result = await serviceAction.execute({
    item,
    itemFromBackup: structuredClone(item),
    restore: restoreWith(spec),
  })
  return result.item.spec
}

describe('the action velero.io/service', () => {
  it('takes cluster addresses away, but not from headless services', async () => {
    const addresses = { clusterIP: '10.0.0.7', clusterIPs: ['10.0.0.7'], ipFamilies: ['IPv4'] }
    assert.deepEqual(await restored(service(addresses)), { ipFamilies: ['IPv4'] })
    const headless = { clusterIP: 'None', clusterIPs: ['None'] }
    assert.deepEqual(await restored(service({ ...headless })), headless)
  })

  const port = { name: 'http', port: 80, protocol: 'TCP', nodePort: 30080 }
  const unnamed = { port: 80, protocol: 'TCP', nodePort: 30080 }
  const cases: { what: string; port: object; metadata?: object; type?: string; kept: boolean }[] = [
    { what: 'that nobody chose', port, kept: false },
    {
      what: 'that was applied for a port of this name',
      port,
      metadata: applied({ ports: [port] }),
      kept: true,
    },
    {
      what: 'that was applied as text',
      port,
      metadata: applied({ ports: [{ ...port, nodePort: '30080' }] }),
      kept: true,
    },
    {
      what: 'that was applied as 0',
      port,
      metadata: applied({ ports: [{ ...port, nodePort: 0 }] }),
      kept: false,
    },
    {
      what: 'that was applied for a port of another name',
      port,
      metadata: applied({ ports: [{ ...port, name: 'x' }] }),
      kept: false,
    },
    {
      what: 'of an unnamed port with the number that was applied',
      port: unnamed,
      metadata: applied({ ports: [unnamed] }),
      kept: true,
    },
    {
      what: 'of an unnamed port with another number than was applied',
      port: unnamed,
      metadata: applied({ ports: [{ ...unnamed, nodePort: 30081 }] }),
      kept: false,
    },
    {
      what: 'of an unnamed port whose name was applied as empty',
      port: unnamed,
      metadata: applied({ ports: [{ ...unnamed, name: '' }] }),
      kept: false,
    },
    {
      what: 'that somebody owns',
      port,
      metadata: owned({ 'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { 'f:nodePort': {} } } }),
      kept: true,
    },
    {
      what: 'of which somebody owns another protocol',
      port,
      metadata: owned({ 'f:ports': { 'k:{"port":80,"protocol":"UDP"}': { 'f:nodePort': {} } } }),
      kept: false,
    },
    {
      what: 'that somebody owns, where a configuration without it was applied',
      port,
      metadata: {
        ...applied({ ports: [{ name: 'http' }] }),
        ...owned({ 'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { 'f:nodePort': {} } } }),
      },
      kept: false,
    },
    { what: 'of an ExternalName', port, type: 'ExternalName', kept: true },
  ]
  for (const { what, port: given, metadata, type = 'NodePort', kept } of cases) {
    it(`${kept ? 'keeps' : 'takes away'} a node port ${what}`, async () => {
      const spec = (await restored(service({ type, ports: [{ ...given }] }, metadata))) as { ports: object[] }
      assert.equal('nodePort' in spec.ports[0]!, kept)
    })
  }

  it('keeps every node port when the restore preserves them', async () => {
    const spec = {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      healthCheckNodePort: 31000,
      ports: [port],
    }
    assert.deepEqual(await restored(service(structuredClone(spec)), { preserveNodePorts: true }), spec)
  })

  const checked = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 31000 }
  const checks = [
    { what: 'nobody chose it', metadata: {}, kept: false },
    { what: 'it was applied', metadata: applied({ healthCheckNodePort: 31000 }), kept: true },
    { what: 'somebody owns it', metadata: owned({ 'f:healthCheckNodePort': {} }), kept: true },
    {
      what: 'somebody owns it, though it was not applied',
      metadata: { ...applied({}), ...owned({ 'f:healthCheckNodePort': {} }) },
      kept: true,
    },
  ]
  for (const { what, metadata, kept } of checks) {
    it(`${kept ? 'keeps' : 'takes away'} the port for health checks when ${what}`, async () => {
      const spec = (await restored(service({ ...checked }, metadata))) as object
      assert.equal('healthCheckNodePort' in spec, kept)
    })
  }

  it('refuses a service whose last applied configuration is not JSON', async () => {
    const item = service({ type: 'NodePort', ports: [port] }, { annotations: { [lastApplied]: '{' } })
    await assert.rejects(
      restored(item),
      error => error instanceof RestoreActionError && error.code === 'ITEM_MALFORMED',
    )
  })
})
