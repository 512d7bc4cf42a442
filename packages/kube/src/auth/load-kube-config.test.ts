import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Clock } from '../clock.ts'
import type { KubeError } from '../errors.ts'
import { type LoadKubeConfigOptions, loadKubeConfig } from './load-kube-config.ts'

let folder: string
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kube-config-'))
})
after(() => rm(folder, { recursive: true }))

interface Entry {
  name: string
  server?: string
  user?: object
  cluster?: object
  current?: boolean
}

async function write(file: string, entries: Entry[]): Promise<string> {
  const target = path.join(folder, file)
  await mkdir(path.dirname(target), { recursive: true })
  const config = {
    'current-context': entries.find(({ current }) => current)?.name ?? '',
    clusters: entries.map(({ name, server, cluster }) => ({
      name,
      cluster: { server: server ?? `https://${name}:6443`, ...cluster },
    })),
    users: entries.map(({ name, user }) => ({ name, user: user ?? { token: `${name}-token` } })),
    contexts: entries.map(({ name }) => ({
      name,
      context: { cluster: name, user: name, namespace: `${name}-space` },
    })),
  }
  await writeFile(target, JSON.stringify(config))
  return target
}

const failure = (options: LoadKubeConfigOptions) =>
  loadKubeConfig(options).then(
    () => assert.fail('it loaded'),
    (error: KubeError) => error,
  )

describe('Loading a kubeconfig', () => {
  it('takes the named file before KUBECONFIG, that before the pod, that before the home folder', async () => {
    const home = path.join(folder, 'home')
    const env = { HOME: home, KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' }
    await write('home/.kube/config', [{ name: 'home', current: true }])
    const listed = await write('listed', [{ name: 'listed', current: true }])
    const named = await write('named', [{ name: 'named', current: true }])
    const serverOf = async (options: LoadKubeConfigOptions) => (await loadKubeConfig(options)).server
    assert.equal(await serverOf({ path: named, env: { ...env, KUBECONFIG: listed } }), 'https://named:6443')
    assert.equal(await serverOf({ env: { ...env, KUBECONFIG: listed } }), 'https://listed:6443')
    assert.equal(await serverOf({ env }), 'https://10.0.0.1:443')
    assert.equal(await serverOf({ env: { HOME: home } }), 'https://home:6443')
  })

  it('merges the files of KUBECONFIG as kubectl does: the first to name something wins, missing ones are skipped', async () => {
    const first = await write('first', [{ name: 'a', server: 'https://first' }])
    const second = await write('second', [
      { name: 'a', server: 'https://second' },
      { name: 'b', current: true },
    ])
    const KUBECONFIG = [path.join(folder, 'missing'), first, second].join(path.delimiter)
    const current = await loadKubeConfig({ env: { KUBECONFIG } })
    assert.deepEqual([current.server, current.namespace], ['https://b:6443', 'b-space'])
    assert.equal((await loadKubeConfig({ env: { KUBECONFIG }, context: 'a' })).server, 'https://first')
  })

  it('says where it looked when there is none', async () => {
    const error = await failure({ env: { HOME: '/nowhere' } })
    assert.equal(error.code, 'ConfigNotFound')
    assert.match(error.message, /\/nowhere\/\.kube\/config.*KUBECONFIG is not set.*not a pod/)
    assert.match((await failure({ path: '/nowhere/config' })).message, /no file \/nowhere\/config$/)
  })

  it('says what is wrong with a file, and which contexts it has', async () => {
    const file = await write('lacking', [{ name: 'x' }, { name: 'y' }])
    assert.match((await failure({ path: file })).message, /no current-context/)
    const error = await failure({ path: file, context: 'z' })
    assert.match(error.message, /no context "z"/)
    assert.match(error.hint ?? '', /x, y/)
    const broken = path.join(folder, 'broken')
    await writeFile(broken, 'a: [')
    assert.match((await failure({ path: broken })).message, /not valid YAML/)
    assert.match((await failure({ path: folder })).message, /cannot be read/)
  })

  it('reads certificates inline or from files beside the kubeconfig', async () => {
    await writeFile(path.join(folder, 'ca.pem'), 'the ca')
    const user = { 'client-certificate-data': btoa('the cert'), 'client-key': 'key.pem' }
    await writeFile(path.join(folder, 'key.pem'), 'the key')
    const cluster = {
      'certificate-authority': 'ca.pem',
      'tls-server-name': 'kubernetes',
      'proxy-url': 'http://proxy',
    }
    const file = await write('certificates', [{ name: 'c', current: true, user, cluster }])
    const { tls, proxyUrl } = await loadKubeConfig({ path: file })
    assert.deepEqual([tls.ca, tls.cert, tls.key].map(String), ['the ca', 'the cert', 'the key'])
    assert.deepEqual([tls.serverName, proxyUrl], ['kubernetes', 'http://proxy'])
    await rm(path.join(folder, 'key.pem'))
    assert.match((await failure({ path: file })).message, /key\.pem/)
  })

  it('gives tokens, passwords and impersonation as headers', async () => {
    const headersOf = async (user: object) => {
      const file = await write('headers', [{ name: 'h', current: true, user }])
      return (await (await loadKubeConfig({ path: file })).credentials()).headers
    }
    assert.deepEqual(await headersOf({ token: 't', as: 'someone' }), {
      authorization: 'Bearer t',
      'impersonate-user': 'someone',
    })
    assert.deepEqual(await headersOf({ username: 'u', password: 'p' }), {
      authorization: `Basic ${btoa('u:p')}`,
    })
    assert.deepEqual(await headersOf({}), {})
  })
})

describe('A token in a file', () => {
  const at = (clock: { time: number }): Clock => ({ now: () => clock.time, sleep: async () => undefined })

  it('is read again after a minute, and at once after it was refused', async () => {
    const account = path.join(folder, 'account')
    await mkdir(account)
    const turn = (token: string) => writeFile(path.join(account, 'token'), `${token}\n`)
    await writeFile(path.join(account, 'ca.crt'), 'the ca')
    await writeFile(path.join(account, 'namespace'), 'velero')
    const time = { time: 0 }
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }
    const config = await loadKubeConfig({ env, serviceAccountFolder: account, clock: at(time) })
    assert.deepEqual(
      [config.server, config.namespace, config.tls.ca],
      ['https://[fd00::1]:443', 'velero', 'the ca'],
    )
    const token = async () => (await config.credentials()).headers.authorization
    await turn('one')
    assert.equal(await token(), 'Bearer one')
    await turn('two')
    assert.equal(await token(), 'Bearer one')
    time.time = 60_001
    assert.equal(await token(), 'Bearer two')
    await turn('three')
    config.invalidate()
    assert.equal(await token(), 'Bearer three')
  })

  it('that is missing or empty is named in the error', async () => {
    const tokenFile = path.join(folder, 'no-token')
    const file = await write('token-file', [{ name: 't', current: true, user: { tokenFile } }])
    const config = await loadKubeConfig({ path: file })
    await assert.rejects(config.credentials(), {
      code: 'CredentialFailed',
      message: `cannot read the token file ${tokenFile}`,
    })
    await writeFile(tokenFile, '\n')
    await assert.rejects(config.credentials(), /is empty/)
  })
})

describe('A credential plugin', () => {
  async function plugin(script: string) {
    const command = path.join(folder, `plugin-${script.length}`)
    await writeFile(command, `#!/bin/sh\n${script}\n`)
    await chmod(command, 0o755)
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command,
      interactiveMode: 'Never',
      installHint: 'install it',
    }
    const file = await write('plugin', [{ name: 'p', current: true, user: { exec } }])
    return { command, config: await loadKubeConfig({ path: file }) }
  }

  it('is run for its token, and again after that was refused', async () => {
    const count = path.join(folder, 'count')
    const { config } = await plugin(
      `echo x >> ${count}; echo '{"kind":"ExecCredential","status":{"token":"t'$(wc -l < ${count})'"}}'`,
    )
    const token = async () => (await config.credentials()).headers.authorization
    assert.deepEqual([await token(), await token()], ['Bearer t1', 'Bearer t1'])
    config.invalidate()
    assert.equal(await token(), 'Bearer t2')
  })

  it('may give a client certificate', async () => {
    const status = JSON.stringify({ status: { clientCertificateData: 'CERT', clientKeyData: 'KEY' } })
    const { config } = await plugin(`echo '${status}'`)
    const { cert, key } = await config.credentials()
    assert.deepEqual([cert, key], ['CERT', 'KEY'])
  })

  it('that fails is named with what it said and how to install it', async () => {
    const { command, config } = await plugin('echo "not logged in" >&2; exit 3')
    await assert.rejects(config.credentials(), (error: KubeError) => {
      assert.equal(error.code, 'CredentialFailed')
      assert.ok(error.message.includes(command) && error.message.includes('not logged in'), error.message)
      return error.hint === 'install it'
    })
  })
})

describe('An OIDC user', () => {
  it('sends its id token while that is valid', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const idToken = `${part({ alg: 'none' })}.${part({ exp: 4_102_444_800 })}.x`
    const provider = {
      name: 'oidc',
      config: { 'id-token': idToken, 'client-id': 'c', 'idp-issuer-url': 'https://i' },
    }
    const file = await write('oidc', [{ name: 'o', current: true, user: { 'auth-provider': provider } }])
    const { headers } = await (await loadKubeConfig({ path: file })).credentials()
    assert.equal(headers.authorization, `Bearer ${idToken}`)
  })
})
