import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { Alert } from '../../ui/Alert.tsx'
import type { BotCheckProps } from './BotCheck.tsx'

const scriptUrl = 'https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit'
/** Cloudflare's test key that always requires a click. */
const interactiveTestKey = '3x00000000000000000000FF'

type Api = {
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
    turnstile?: Api
  }
}

let loading: Promise<Api> | null = null

function loadApi(): Promise<Api> {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = scriptUrl
    script.async = true
    script.addEventListener('load', () =>
      window.turnstile ? resolve(window.turnstile) : reject(new Error('Turnstile')),
    )
    script.addEventListener('error', () => {
      loading = null
      reject(new Error('Turnstile could not be loaded'))
    })
    document.head.append(script)
  })
  return loading
}

/** Cloudflare Turnstile, for installations with a site key. */
export default function Turnstile({ siteKey, isInteractive, onToken }: BotCheckProps & { siteKey: string }) {
  const container = useRef<HTMLDivElement>(null)
  const [isBroken, setIsBroken] = useState(false)
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
        'error-callback': () => setIsBroken(true),
      })
      remove = () => api.remove(widgetId)
    }
    start().catch(() => setIsBroken(true))
    return () => {
      isUnmounted = true
      reportToken('')
      remove()
    }
  }, [siteKey, isInteractive])
  return (
    <>
      <div ref={container} />
      {isBroken && (
        <Alert tone="bad">
          The bot check could not be loaded. Your browser or network blocks challenges.cloudflare.com.
        </Alert>
      )}
    </>
  )
}
