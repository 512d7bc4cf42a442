import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseLdd } from './shared-libraries.ts'

describe('parseLdd', () => {
  it('names libraries and the loader, and not what the kernel provides', () => {
    const output = [
      '\tlinux-vdso.so.1 (0x00007fb2cc1ac000)',
      '\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007fb2cc0b6000)',
      '\tlibstdc++.so.6 => /lib/x86_64-linux-gnu/libstdc++.so.6 (0x00007fb2cbe00000)',
      '\t/lib64/ld-linux-x86-64.so.2 (0x00007fb2cc1ae000)',
    ].join('\n')
    assert.deepEqual(parseLdd(output), [
      '/lib/x86_64-linux-gnu/libm.so.6',
      '/lib/x86_64-linux-gnu/libstdc++.so.6',
      '/lib64/ld-linux-x86-64.so.2',
    ])
  })

  it('finds nothing for a static program', () => {
    assert.deepEqual(parseLdd('\tstatically linked\n'), [])
  })

  it('refuses a program whose libraries are missing', () => {
    assert.throws(() => parseLdd('\tlibicu.so.72 => not found\n'), {
      code: 'IMAGE_PROGRAM_UNUSABLE',
      message: /libicu\.so\.72/,
    })
  })
})
