import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { openCluster } from '../../tools/cluster/cluster.ts'
import { ClusterError } from '../../tools/cluster/cluster-error.ts'
import { clusterNames } from '../../tools/cluster/cluster-state.ts'
import { checkPrerequisites } from '../../tools/cluster/prerequisites.ts'
import { reportSkipped } from '../../tools/cluster/testing.ts'

const script = path.resolve(import.meta.dirname, '../../tools/cluster/cli.ts')
const name = `install-${process.pid}`
const cluster = async (...args: string[]) => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...args, '--name', name])
  return stdout
}

const reason = await checkPrerequisites({ node: true, s3: true }).then(
  () => false as const,
  (error: Error) => {
    if (error instanceof ClusterError) return error.message
    throw error
  },
)
if (reason !== false) reportSkipped(reason)

describe('npm run cluster -- up --install', { skip: reason, concurrency: false }, () => {
  after(() => cluster('down'))

  it('needs a node and a bucket, and says so before it starts anything', async () => {
    await assert.rejects(cluster('up', '--install', '--s3'), /up --node --s3 --install/)
    assert.ok(!(await clusterNames()).includes(name))
  })

  it('gives a cluster with Lateen installed from the image of this checkout, and says what to do now', async () => {
    const said = await cluster('up', '--node', '--s3', '--install')
    assert.match(
      said,
      /\nWhat to do now:\n {2}export KUBECONFIG=\S+\n[\s\S]* lateen backup create [\s\S]* down --name /,
    )
    const { kubectl } = await openCluster(name)
    const inVelero = (...args: string[]) => kubectl(['-n', 'velero', ...args])
    const image = '{.spec.template.spec.containers[0].image} {.status.readyReplicas}'
    assert.equal(
      await inVelero('get', 'deployment/velero', '-o', `jsonpath=${image}`),
      'localhost/lateen:test 1',
    )
    const agents = '{.spec.template.spec.containers[0].image} {.status.numberReady}'
    assert.equal(
      await inVelero('get', 'daemonset/node-agent', '-o', `jsonpath=${agents}`),
      'localhost/lateen:test 1',
    )
    const location = '{.status.phase} {.spec.default} {.spec.objectStorage.bucket}'
    assert.equal(await inVelero('get', 'bsl/default', '-o', `jsonpath=${location}`), 'Available true lateen')
  })

  it('is gone without a trace after down', async () => {
    await cluster('down')
    assert.ok(!(await clusterNames()).includes(name))
  })
})
