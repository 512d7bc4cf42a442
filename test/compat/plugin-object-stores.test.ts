import { objectStoreConformance } from '@lateen/plugin/object-store-conformance'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { veleroMissing } from './backup-pair.ts'
import { startPluginProcess } from './plugin-process.ts'

const missing = await veleroMissing()
const given = await givenCluster({ s3: true })

objectStoreConformance({
  name: 'velero-plugin-for-aws, through the plugin protocol',
  skip: missing || given.skip,
  async open() {
    const { endpoint, region, accessKeyId, secretAccessKey, bucket } = given.cluster.s3
    const env = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey }
    const program = await startPluginProcess({ command: await tool('velero-plugin-for-aws'), env })
    const store = program.host.plugin('ObjectStore', 'velero.io/aws')
    await store.init({ config: { bucket, prefix: '', region, s3Url: endpoint, s3ForcePathStyle: 'true' } })
    const close = async () => program[Symbol.asyncDispose]()
    return { store, bucket, missingBucket: 'no-such-bucket', close }
  },
})
