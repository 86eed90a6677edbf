import 'altcha/altcha.css'
import 'altcha/external'
import type {} from 'altcha/types/react'
import Pbkdf2Worker from 'altcha/workers/pbkdf2?worker'
import ShaWorker from 'altcha/workers/sha?worker'
import { useEffect, useEffectEvent, useRef } from 'react'
import type { BotCheckProps } from './BotCheck.tsx'

for (const bits of ['256', '384', '512']) {
  globalThis.$altcha.algorithms.set(`PBKDF2/SHA-${bits}`, () => new Pbkdf2Worker())
  globalThis.$altcha.algorithms.set(`SHA-${bits}`, () => new ShaWorker())
}

/** Proof of work, solved by the browser while the form is filled in. Needs no account anywhere. */
export default function Altcha({ challengeUrl, isInteractive, onToken }: BotCheckProps & { challengeUrl: string }) {
  const widget = useRef<HTMLElement>(null)
  const tell = useEffectEvent(onToken)
  useEffect(() => {
    const verified = (event: Event) => {
      const { detail } = event as CustomEvent<{ payload?: string | null }>
      tell(detail.payload ?? '')
    }
    const gone = () => tell('')
    const element = widget.current
    element?.addEventListener('verified', verified)
    element?.addEventListener('expired', gone)
    return () => {
      gone()
      element?.removeEventListener('verified', verified)
      element?.removeEventListener('expired', gone)
    }
  }, [])
  return (
    <altcha-widget
      ref={widget}
      challenge={challengeUrl}
      auto={isInteractive ? 'off' : 'onload'}
      language="en"
      configuration={JSON.stringify({ hideLogo: true, hideFooter: true })}
      className="block [--altcha-max-width:100%]"
    />
  )
}
