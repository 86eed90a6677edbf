import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import { elementExpression, fieldExpression, type Engine } from './engine.ts'

const driver = '/usr/bin/WebKitWebDriver'
const findBrowser = () => globSync('/usr/lib/*/webkit2gtk-4.1/MiniBrowser')[0]

/** Returns a sentence about what this machine lacks for WebKitGTK; null if it lacks nothing. */
export function missingForWebKit(): string | null {
  const hasAll = existsSync(driver) && existsSync('/usr/bin/Xvfb') && findBrowser()
  return hasAll ? null : 'WebKitGTK needs webkit2gtk-driver and xvfb (apt-get install --no-install-recommends).'
}

/**
 * Starts WebKitGTK's browser on a virtual display, and controls it through its driver, by the W3C protocol WebDriver. `close` adds to
 * `errors` the uncaught errors, and the error messages on the console, since the last call of `open`.
 */
export async function startWebKit(errors: string[]): Promise<Engine> {
  const display = await startDisplay()
  const port = await freePort()
  const home = mkdtempSync(join(tmpdir(), 'shoal-webkit-'))
  const child = spawn(driver, ['--host=127.0.0.1', `--port=${port}`], {
    detached: true,
    stdio: 'ignore',
    env: {
      ...process.env,
      HOME: home,
      XDG_RUNTIME_DIR: home,
      DISPLAY: display.name,
      GDK_BACKEND: 'x11',
      LIBGL_ALWAYS_SOFTWARE: '1',
      // With C.UTF-8, the browser has the language tag "C", which Intl rejects; with C, it has "en-US".
      LC_ALL: 'C',
    },
  })
  const call = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const { value } = (await response.json()) as { value: unknown }
    if (!response.ok) throw new Error(`WebDriver ${path}: ${JSON.stringify(value)}`)
    return value
  }
  const end = () => {
    endGroup(child)
    endGroup(display.child)
    rmSync(home, { recursive: true, force: true, maxRetries: 10 })
  }
  try {
    await until(async () => isRunning(call), 'the driver responds')
    const options = { binary: findBrowser(), args: ['--automation'] }
    const capabilities = { alwaysMatch: { 'webkitgtk:browserOptions': options } }
    const session = (await call('POST', '/session', { capabilities })) as Session
    return engineOf(session, call, errors, end)
  } catch (error) {
    end()
    throw error
  }
}

type Call = (method: string, path: string, body?: unknown) => Promise<unknown>
type Session = { sessionId: string; capabilities: { browserVersion: string } }

function engineOf({ sessionId, capabilities }: Session, call: Call, errors: string[], end: () => void): Engine {
  const send = (method: string, path: string, body?: unknown) => call(method, `/session/${sessionId}${path}`, body)
  const evaluate = async <T>(expression: string) =>
    (await send('POST', '/execute/sync', { script: `return ${expression}`, args: [] })) as T
  const collectErrors = async () => errors.push(...(await evaluate<string[]>('(window.errorsOfPage ?? []).splice(0)')))
  /** Waits until the page has the element, and returns the path of the element in the protocol. */
  const find = async (expression: string, description: string) => {
    const element = await until(() => evaluate<Record<string, string> | null>(expression), description)
    return `/element/${Object.values(element)[0]}`
  }
  return {
    name: `WebKitGTK ${capabilities.browserVersion}`,
    page: {
      open: async (url) => {
        await send('POST', '/url', { url })
        await evaluate(reportErrors)
      },
      click: async (target) => {
        const path = await find(elementExpression(target), `${target.join(' ')} is shown`)
        await send('POST', `${path}/click`, {})
      },
      type: async (label, text) => {
        await send('POST', `${await find(fieldExpression(label), `the field ${label} is shown`)}/value`, { text })
      },
      waitFor: async (target) => void (await find(elementExpression(target), `${target.join(' ')} is shown`)),
      waitUntil: async (condition, description) =>
        void (await until(() => evaluate<boolean>(`Boolean(${condition})`), description)),
      evaluate,
      screenshot: async () => Buffer.from((await send('GET', '/screenshot')) as string, 'base64'),
    },
    close: async () => {
      try {
        await collectErrors()
        await send('DELETE', '')
      } finally {
        end()
      }
    },
  }
}

/** A JavaScript expression that makes the page record uncaught errors, and error messages on its console. */
const reportErrors = `(() => {
  const report = (message) => (window.errorsOfPage ??= []).push(String(message))
  addEventListener('error', ({ message }) => report(message))
  addEventListener('unhandledrejection', ({ reason }) => report(reason))
  const log = console.error
  console.error = (...parts) => { report(parts.join(' ')); log(...parts) }
})()`

async function isRunning(call: Call): Promise<boolean> {
  try {
    await call('GET', '/status')
    return true
  } catch {
    return false
  }
}

/** Starts an X server with a virtual screen that listens only on a Unix socket. It selects the number of its display, and reports the number on file descriptor 3. */
async function startDisplay(): Promise<{ name: string; child: ChildProcess }> {
  const args = ['-displayfd', '3', '-nolisten', 'tcp', '-screen', '0', '1280x1024x24']
  const child = spawn('/usr/bin/Xvfb', args, { detached: true, stdio: ['ignore', 'ignore', 'ignore', 'pipe'] })
  let output = ''
  child.stdio[3]?.on('data', (text: Buffer) => {
    output += text.toString()
  })
  await until(() => Promise.resolve(output.endsWith('\n')), 'the display is ready')
  return { name: `:${output.trim()}`, child }
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid) process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has already ended.
  }
}
