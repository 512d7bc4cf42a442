import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { textWithoutSecrets, withoutSecrets } from './without-secrets.ts'

describe('withoutSecrets', () => {
  it('leaves out values of settings and variables that are called secret, and keeps the names of Secrets', () => {
    const pod = {
      metadata: { name: 'p', managedFields: [{}], annotations: { a: 'b' } },
      spec: {
        containers: [
          {
            name: 'c',
            env: [
              { name: 'AWS_SECRET_ACCESS_KEY', value: 'x' },
              { name: 'GREETING', value: 'hello' },
              { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
            ],
            args: ['--password=x', '--log-level=debug'],
          },
        ],
        volumes: [{ name: 'v', secret: { secretName: 's' } }],
      },
    }
    assert.deepEqual(withoutSecrets(pod), {
      metadata: { name: 'p', annotations: { a: 'b' } },
      spec: {
        containers: [
          {
            name: 'c',
            env: [
              { name: 'AWS_SECRET_ACCESS_KEY', value: '<left-out>' },
              { name: 'GREETING', value: 'hello' },
              { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
            ],
            args: ['--password=<left-out>', '--log-level=debug'],
          },
        ],
        volumes: [{ name: 'v', secret: { secretName: 's' } }],
      },
    })
  })

  it('showed the password of a proxy that was named without a scheme', () => {
    const variable = { name: 'HTTPS_PROXY', value: 'me:x1@proxy:3128' }
    assert.deepEqual(withoutSecrets(variable), { name: 'HTTPS_PROXY', value: '<left-out>@proxy:3128' })
    const without = { name: 'no_proxy', value: 'localhost,10.0.0.0/8' }
    assert.deepEqual(withoutSecrets(without), without)
  })

  it('leaves out the password of a proxy that a variable of a pod names', () => {
    const variable = { name: 'HTTPS_PROXY', value: 'http://me:x#1@proxy:3128' }
    assert.deepEqual(withoutSecrets({ env: [variable] }), {
      env: [{ name: 'HTTPS_PROXY', value: 'http://<left-out>@proxy:3128' }],
    })
  })

  it('leaves out settings of locations, copies of manifests and the queries of links', () => {
    const objects = [
      {
        spec: {
          config: { region: 'r', accessKeyId: 'x', secretAccessKey: 'x' },
          credential: { name: 'n', key: 'k' },
        },
      },
      {
        metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"password":"x"}' } },
      },
      { status: { downloadURL: 'https://s3/b/k?X-Amz-Signature=x&X-Amz-Credential=x' } },
    ]
    assert.deepEqual(withoutSecrets(objects), [
      {
        spec: {
          config: { region: 'r', accessKeyId: '<left-out>', secretAccessKey: '<left-out>' },
          credential: { name: 'n', key: 'k' },
        },
      },
      { metadata: { annotations: {} } },
      { status: { downloadURL: 'https://s3/b/k?X-Amz-Signature=<left-out>&X-Amz-Credential=<left-out>' } },
    ])
  })
})

describe('textWithoutSecrets', () => {
  const lines: [string, string][] = [
    ['aws_secret_access_key = x1', 'aws_secret_access_key = <left-out>'],
    ['{"Authorization": "Bearer x1"}', '{"Authorization": "Bearer <left-out>"}'],
    ['get https://s3/b?X-Amz-Signature=x1 failed', 'get https://s3/b?X-Amz-Signature=<left-out> failed'],
    ['msg="no such secret" secret=cloud-credentials', 'msg="no such secret" secret=cloud-credentials'],
    ['password: x1, user: y', 'password: <left-out>, user: y'],
    ['HTTPS_PROXY=http://me:x1@proxy:3128', 'HTTPS_PROXY=http://<left-out>@proxy:3128'],
    ['HTTPS_PROXY=me:x1@proxy:3128', 'HTTPS_PROXY=<left-out>@proxy:3128'],
    ['{"https_proxy":"me:x1@proxy:3128"}', '{"https_proxy":"<left-out>@proxy:3128"}'],
    ['NO_PROXY=localhost', 'NO_PROXY=localhost'],
    ['Invalid proxy URL: http://me:x#1@proxy:3128', 'Invalid proxy URL: http://<left-out>@proxy:3128'],
    ["via 'socks5://me:x/1?@2'3@[::1]:1080'", "via 'socks5://<left-out>@[::1]:1080'"],
    ['http://token@proxy, http://me:x1@other', 'http://<left-out>@proxy, http://<left-out>@other'],
    ['get http://s3:9000/b from=a@b', 'get http://s3:9000/b from=a@b'],
    ['{"url":"http://s3:9000/b","by":"a@b"}', '{"url":"http://s3:9000/b","by":"a@b"}'],
    ['"{\\"secretAccessKey\\":\\"x1\\"}"', '"{\\"secretAccessKey\\":\\"<left-out>\\"}"'],
    [
      'Authorization: AWS4-HMAC-SHA256 Credential=x1/s3, SignedHeaders=host, Signature=x2',
      'Authorization: AWS4-HMAC-SHA256 Credential=<left-out>, SignedHeaders=host, Signature=<left-out>',
    ],
    ['GET /b/k?sv=1&sig=x1', 'GET /b/k?sv=1&sig=<left-out>'],
  ]
  for (const [line, shown] of lines) {
    it(`makes ${shown}`, () => assert.equal(textWithoutSecrets(line), shown))
    it(`leaves ${shown} as it is`, () => assert.equal(textWithoutSecrets(shown), shown))
  }
})
