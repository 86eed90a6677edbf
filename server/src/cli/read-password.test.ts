import { PassThrough, Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { readPassword } from './read-password.ts'

const fromPipe = (text: string) => readPassword({ input: Readable.from([text]), prompts: new PassThrough() })

/** Enters one text at each prompt of a terminal, or Ctrl-C when none is left. `shown`: all output of the terminal. */
async function atTerminal(...texts: string[]): Promise<{ password: string | Error; shown: string }> {
  const input = Object.assign(new PassThrough(), { isTTY: true })
  let shown = ''
  const prompts = new PassThrough().on('data', (chunk: Buffer) => {
    shown += chunk.toString()
    if (chunk.toString().endsWith(': ')) input.write(texts.shift() ?? '\u0003')
  })
  const password = await readPassword({ input, prompts }).catch((error: unknown) => error as Error)
  return { password, shown }
}

test('a pipe contains the password in one line, with or without a line break', async () => {
  expect(await fromPipe('correct-horse')).toBe('correct-horse')
  expect(await fromPipe('correct-horse\n')).toBe('correct-horse')
  expect(await fromPipe(' two words \r\n')).toBe(' two words ')
})

test('an empty, short or long password, and several lines, are refused', async () => {
  await expect(fromPipe('')).rejects.toThrow('must have 8 to 200 characters')
  await expect(fromPipe('1234567\n')).rejects.toThrow('must have 8 to 200 characters')
  await expect(fromPipe('x'.repeat(1_000_000))).rejects.toThrow('must have 8 to 200 characters')
  await expect(fromPipe('correct-horse\nbattery-staple\n')).rejects.toThrow('in one line')
})

test('at a terminal, the user enters the password twice, and it is not shown', async () => {
  const { password, shown } = await atTerminal('correct-horse\n', 'correct-horse\n')
  expect(password).toBe('correct-horse')
  expect(shown).toBe('Password: \nThe same password again: \n')
})

test('two different passwords, Ctrl-C and Ctrl-D at a terminal are errors', async () => {
  expect((await atTerminal('correct-horse\n', 'battery-staple\n')).password).toEqual(
    new Error('The two passwords differ.'),
  )
  expect((await atTerminal('\u0003')).password).toEqual(new Error('Aborted.'))
  expect((await atTerminal('\u0004')).password).toEqual(new Error('No password was entered.'))
})
