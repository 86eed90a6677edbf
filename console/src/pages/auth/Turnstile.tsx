import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import type { BotCheckProps } from './BotCheck.tsx'

const scriptUrl = 'https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit'

/** Cloudflare's test key that always requires a click. */
const interactiveTestKey = '3x00000000000000000000FF'

type TurnstileApi = {
  render: (
    element: HTMLElement,
    options: {
      sitekey: string
      theme: string
      size: string
      callback: (token: string) => void
      'expired-callback': () => void
      'error-callback': () => void
    },
  ) => string
  remove: (widgetId: string) => void
}

declare global {
  interface Window {
    turnstile?: TurnstileApi
  }
}

let apiPromise: Promise<TurnstileApi> | null = null

/** Loads Cloudflare's script. Later calls return the same promise, but after a failure, they load the script again. */
function loadApi(): Promise<TurnstileApi> {
  apiPromise ??= loadScript().catch((error: unknown) => {
    apiPromise = null
    throw error
  })
  return apiPromise
}

function loadScript(): Promise<TurnstileApi> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script')
    const fail = (message: string) => {
      script.remove()
      reject(new Error(message))
    }
    script.src = scriptUrl
    script.async = true
    script.addEventListener('load', () => (window.turnstile ? resolve(window.turnstile) : fail('Turnstile has no API')))
    script.addEventListener('error', () => fail('Turnstile could not be loaded'))
    document.head.append(script)
  })
}

/** The bot check by Cloudflare Turnstile, for installations with a site key. */
export default function Turnstile({ siteKey, isInteractive, onToken }: BotCheckProps & { siteKey: string }) {
  const container = useRef<HTMLDivElement>(null)
  const [attempt, setAttempt] = useState(1)
  const [hasFailed, setHasFailed] = useState(false)
  const reportToken = useEffectEvent(onToken)
  useEffect(() => {
    let isUnmounted = false
    let remove = () => {}
    const start = async () => {
      const api = await loadApi()
      if (isUnmounted || !container.current) return
      const widgetId = api.render(container.current, {
        sitekey: isInteractive ? interactiveTestKey : siteKey,
        theme: document.documentElement.dataset['theme'] ?? 'light',
        size: 'flexible',
        callback: (token) => reportToken(token),
        'expired-callback': () => reportToken(''),
        'error-callback': () => setHasFailed(true),
      })
      remove = () => api.remove(widgetId)
    }
    start().catch(() => setHasFailed(true))
    return () => {
      isUnmounted = true
      reportToken('')
      remove()
    }
  }, [siteKey, isInteractive, attempt])
  const retry = () => {
    setHasFailed(false)
    setAttempt((last) => last + 1)
  }
  return (
    <>
      <div ref={container} />
      {hasFailed && (
        <Alert
          tone="bad"
          action={
            <Button size={28} onClick={retry}>
              Try again
            </Button>
          }
        >
          The bot check could not be loaded. Your browser or network blocks challenges.cloudflare.com.
        </Alert>
      )}
    </>
  )
}
