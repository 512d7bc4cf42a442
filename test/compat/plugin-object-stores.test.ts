import { objectStoreConformance } from '@lateen/plugin/object-store-conformance'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { veleroMissing } from './backup-pair.ts'
import { makePluginFolder } from './plugin-folder.ts'
import { openPluginHost } from './plugin-host-scene.ts'

const missing = await veleroMissing()
const given = await givenCluster({ s3: true })

objectStoreConformance({
  name: 'velero-plugin-for-aws, under our host',
  skip: missing || given.skip,
  async open() {
    const { endpoint, region, accessKeyId, secretAccessKey, bucket } = given.cluster.s3
    await using opening = new AsyncDisposableStack()
    const folder = opening.use(await makePluginFolder())
    const env = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey }
    await folder.launcher('velero-plugin-for-aws', { command: [await tool('velero-plugin-for-aws')], env })
    const host = opening.use(await openPluginHost({ folder: folder.path }))
    const store = opening.use(host.registry.objectStores.create('aws'))
    await store.init({ config: { bucket, prefix: '', region, s3Url: endpoint, s3ForcePathStyle: 'true' } })
    const opened = opening.move()
    return { store, bucket, missingBucket: 'no-such-bucket', close: () => opened.disposeAsync() }
  },
})
