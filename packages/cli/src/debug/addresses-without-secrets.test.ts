import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addressesWithoutSecrets } from './addresses-without-secrets.ts'

type Case = [text: string, shown: string]

function areShown(cases: readonly Case[]): void {
  for (const [text, shown] of cases) {
    assert.equal(addressesWithoutSecrets(text), shown)
    assert.equal(addressesWithoutSecrets(shown), shown, 'once more')
  }
}

describe('addressesWithoutSecrets', () => {
  it('the query of an address with a password, or with an @ in a value, stayed', () => {
    areShown([
      ['https://me:pw@host/b?sig=SECRET&se=2026', 'https://<left-out>@host/b?sig=<left-out>&se=<left-out>'],
      ['https://h:8443/b?sig=SEC@RET&se=x', 'https://h:8443/b?sig=<left-out>&se=<left-out>'],
      [
        'https://bucket.s3:443/x/user@corp/k?GoogleAccessId=a%40b&Signature=SECRET',
        'https://bucket.s3:443/x/user@corp/k?GoogleAccessId=<left-out>&Signature=<left-out>',
      ],
      ['https://me:pw@host?sig=SEC@RET', 'https://<left-out>@host?sig=<left-out>'],
      ['https://minio:9000/b/user@corp?sig=x', 'https://minio:9000/b/user@corp?sig=<left-out>'],
    ])
  })

  it('keeps host, port and path', () => {
    for (const address of [
      ...['https://s3:9000/b/k', 'http://[::1]:1080/', 'file:///a/b@c', 'oci://r/app@sha256:0f', 'a://b'],
      ...['https://r:5000/app@sha256:0f1e2d3c', 'https://bucket.s3:443/x/user@corp/k', 'https://h/'],
      ...['kafka://h1:1,h2:2/t', '://', 'a://?', 'http://h/user@corp', "('https://s3:9000/b')."],
    ]) {
      assert.equal(addressesWithoutSecrets(address), address)
    }
  })

  it('leaves out what is before the host although it was not escaped', () => {
    areShown([
      ['http://token@proxy', 'http://<left-out>@proxy'],
      ['http://me:12/34@proxy:3128', 'http://<left-out>@proxy:3128'],
      ['http://me:12#34@proxy:3128/', 'http://<left-out>@proxy:3128/'],
      ['http://me:12?34@[::1]:3128', 'http://<left-out>@[::1]:3128'],
      ['http://me:x?a=b@proxy:3128', 'http://<left-out>@proxy:3128'],
      ['http://me:a://b@proxy', 'http://<left-out>@proxy'],
      ['http://me:a@b/c@proxy', 'http://<left-out>@proxy'],
      ['http://corp/me:x@proxy:3128', 'http://<left-out>@proxy:3128'],
      ['http://h1:80,http://me:b@h2:80', 'http://<left-out>@h2:80'],
    ])
  })

  it('looks at all addresses of a word', () => {
    areShown([
      ['https://p/https://me:pw@h/x?sig=S', 'https://p/https://<left-out>@h/x?sig=<left-out>'],
      ["'https://a/b?sig=S','https://me:pw@c/d'", "'https://a/b?sig=<left-out>','https://<left-out>@c/d'"],
      ['https://a/b?to=https://c?sig=S&d=e', 'https://a/b?to=<left-out>&d=<left-out>'],
    ])
  })

  it('keeps names of parameters and no values, however these are written', () => {
    areShown([
      [`https://h/b?a='x'&sig=S`, 'https://h/b?a=<left-out>&sig=<left-out>'],
      [
        String.raw`"get \"https://h/b?a=x\u0026sig=S\""`,
        String.raw`"get \"https://h/b?a=<left-out>&sig=<left-out>\""`,
      ],
      ['https://h/b?a=x&amp;sig=S#T', 'https://h/b?a=<left-out>&sig=<left-out>'],
      ['https://h/b?dGhlIHNlY3JldA==', 'https://h/b?<left-out>'],
      ['https://h/b?THESECRET&a=', 'https://h/b?<left-out>&<left-out>'],
      ['https://h/b#token', 'https://h/b#<left-out>'],
    ])
  })

  it('takes the words of the server for what they are', () => {
    assert.equal(
      addressesWithoutSecrets('bad: http://<left out>@proxy:3128/?sig=S'),
      'bad: http://<left-out>@proxy:3128/?sig=<left-out>',
    )
  })

  it('comes to an end with a line of a megabyte, whatever it holds', () => {
    const parts = ['://', '@', 'a:b@', "'x://a:b?c=d'", 'x://a?b=', 'http://h:1/', '?', "'", '\\', '/@a.-']
    for (const part of parts) {
      const long = `x://me:pw@h/${part.repeat(2 ** 20 / part.length)}`
      for (const end of ['', '@', '?sig=SECRET', '/x y'])
        assert.doesNotMatch(addressesWithoutSecrets(long + end), /pw|SECRET/)
    }
  })
})
