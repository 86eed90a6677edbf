import 'altcha/altcha.css'
import 'altcha/external'
import Pbkdf2Worker from 'altcha/workers/pbkdf2?worker'
import ShaWorker from 'altcha/workers/sha?worker'
import { useEffect, useEffectEvent, useRef } from 'react'
import type { BotCheckProps } from './BotCheck.tsx'

for (const bits of ['256', '384', '512']) {
  globalThis.$altcha.algorithms.set(`PBKDF2/SHA-${bits}`, () => new Pbkdf2Worker())
  globalThis.$altcha.algorithms.set(`SHA-${bits}`, () => new ShaWorker())
}

/** The values of the widget's variables: design tokens of the console. */
const style = {
  '--altcha-max-width': '100%',
  '--altcha-border-color': 'var(--n8)',
  '--altcha-checkbox-border-color': 'var(--n8)',
  '--altcha-checkbox-size': '16px',
  '--altcha-color-base': 'var(--n1)',
  '--altcha-color-base-content': 'var(--n12)',
  '--altcha-color-primary': 'var(--accent)',
  '--altcha-color-primary-content': 'var(--on-accent)',
  '--altcha-color-success': 'var(--good)',
  '--altcha-color-error': 'var(--bad)',
  '--altcha-color-error-content': 'var(--on-bad)',
}

/** A bot check by proof of work, which the browser does while the user fills in the form. It sends no request to a third party. */
export default function Altcha({ challengeUrl, isInteractive, onToken }: BotCheckProps & { challengeUrl: string }) {
  const widget = useRef<HTMLElement>(null)
  const reportToken = useEffectEvent(onToken)
  useEffect(() => {
    const onVerified = (event: Event) => {
      const { detail } = event as CustomEvent<{ payload?: string | null }>
      reportToken(detail.payload ?? '')
    }
    const clearToken = () => reportToken('')
    const element = widget.current
    element?.addEventListener('verified', onVerified)
    element?.addEventListener('expired', clearToken)
    return () => {
      clearToken()
      element?.removeEventListener('verified', onVerified)
      element?.removeEventListener('expired', clearToken)
    }
  }, [])
  return (
    <altcha-widget
      ref={widget}
      challenge={challengeUrl}
      auto={isInteractive ? 'off' : 'onload'}
      language="en"
      configuration={JSON.stringify({ hideLogo: true, hideFooter: true })}
      className="block"
      style={style}
    />
  )
}
