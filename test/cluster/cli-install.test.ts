import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { allKinds } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { type Lateen, lateenFor } from './cli-runner.ts'

const given = await givenCluster({ own: true })
const lateen: Lateen = given.skip
  ? () => Promise.reject(new Error(given.skip || ''))
  : await lateenFor(given.cluster.kubeconfigPath)

function outcomes(stdout: string): Map<string, string> {
  const lines = [...stdout.matchAll(/^CustomResourceDefinition\/(\S+): (\S+)$/gm)]
  return new Map(lines.map(([, name = '', outcome = '']) => [name, outcome]))
}

describe('lateen install', { skip: given.skip, concurrency: false }, () => {
  const names = allKinds.map(kind => `${kind.plural}.${kind.group}`)

  it('tells what is missing before anything is installed', async () => {
    const got = await lateen(['backup-location', 'get'])
    assert.equal(got.status, 1)
    assert.equal(
      got.stderr,
      "An error occurred: this cluster does not know backup storage locations (install the CustomResourceDefinitions with 'lateen install --crds-only')\n",
    )
  })

  it('creates every definition with the installer label and returns when all are served', async () => {
    const installed = await lateen(['install', '--crds-only'])
    assert.equal(installed.status, 0, installed.stderr)
    assert.deepEqual(outcomes(installed.stdout), new Map(names.map(name => [name, 'created'])))
    for (const kind of allKinds) {
      await given.cluster.kubectl(['get', `${kind.plural}.${kind.version}.${kind.group}`, '--all-namespaces'])
    }
    const labelled = await given.cluster.kubectl(['get', 'crd', '-l', 'component=velero', '-o', 'name'])
    assert.equal(labelled.trim().split('\n').length, names.length)
  })

  it('changes nothing the second time', async () => {
    const again = await lateen(['install', '--crds-only'])
    assert.equal(again.status, 0, again.stderr)
    assert.deepEqual(outcomes(again.stdout), new Map(names.map(name => [name, 'unchanged'])))
  })

  it('repairs a definition that somebody changed', async () => {
    await given.cluster.kubectl(['label', 'crd', 'backups.velero.io', 'component=other', '--overwrite'])
    const repaired = await lateen(['install', '--crds-only'])
    assert.equal(repaired.status, 0, repaired.stderr)
    assert.equal(outcomes(repaired.stdout).get('backups.velero.io'), 'configured')
  })

  it('prints objects that the API server accepts', async () => {
    const printed = await lateen([
      'install',
      '--dry-run',
      '-o',
      'yaml',
      '--provider=aws',
      '--bucket=b',
      '--no-secret',
      '--use-node-agent',
      '--use-node-agent-windows',
    ])
    assert.equal(printed.status, 0, printed.stderr)
    const applied = await given.cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], {
      stdin: printed.stdout,
    })
    assert.match(applied, /deployment\.apps\/velero serverside-applied/)
    assert.match(applied, /daemonset\.apps\/node-agent-windows serverside-applied/)
    assert.match(applied, /backupstoragelocation\.velero\.io\/default serverside-applied/)
  })
})
