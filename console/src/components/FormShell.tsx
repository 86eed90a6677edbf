import { useBlocker } from '@tanstack/react-router'
import { useEffect, type ReactNode } from 'react'
import {
  useForm,
  type DefaultValues,
  type FieldValues,
  type Path,
  type Resolver,
  type UseFormReturn,
} from 'react-hook-form'
import type { z } from 'zod'
import { errorText, fieldErrors } from '../api/error-text.ts'
import { Alert } from '../ui/Alert.tsx'
import { Button, type ButtonSize } from '../ui/Button.tsx'
import { cx } from '../ui/classes.ts'
import { prefetch } from '../ui/prefetch.ts'
import { confirmed } from './confirm.ts'

type Form<I extends FieldValues, O> = UseFormReturn<I, unknown, O>
/** The props of a text field: `<TextField label="Name" {...field('name')} />`. */
type FieldProps<I extends FieldValues> = (
  name: Path<I>,
) => ReturnType<Form<I, unknown>['register']> & { error?: string }

type Props<I extends FieldValues, O> = {
  /**
   * Built from the contract's schemas, so that browser and server show the same messages. Loaded when the form gets
   * focus, so that the page itself ships no validation.
   */
  schema: (schemas: FormSchemas) => z.ZodType<O, I>
  /** Initial values. New values from the server replace those of fields the user has not edited. */
  values: I
  onSubmit: (values: O) => void
  /** True while the call is in flight. */
  isPending: boolean
  /** The error of the last submit; `null` if there was none. */
  submitError: unknown
  submitLabel: string
  /** A red submit button, for destructive actions. */
  isDanger?: boolean
  /** Shown next to the submit button. */
  secondary?: ReactNode
  /** The field below which server errors that name no field are shown (spec 8). */
  errorField?: Path<I>
  /** Custom text for server errors that name no field. */
  describeError?: (error: unknown) => string
  /** Why the form cannot be submitted with these values; null if it can. */
  disabledReasonOf?: (values: I) => string | null
  /**
   * Whether leaving the page with unsaved changes needs a confirmation. True by default; false for forms with nothing to lose, such as
   * the sign-in form.
   */
  warnsAboutUnsavedChanges?: boolean
  /** A full-width submit button, as on the sign-in pages. */
  isWide?: boolean
  size?: ButtonSize
  children: (form: { field: FieldProps<I>; form: Form<I, O> }) => ReactNode
}

/** Renders a form from values, fields and one mutation. */
export function FormShell<I extends FieldValues, O>(props: Props<I, O>) {
  const { schema, values, onSubmit, isPending, submitError, errorField, describeError = errorText, children } = props
  const form = useForm<I, unknown, O>({
    resolver: lazyResolver(schema),
    defaultValues: values as DefaultValues<I>,
    values,
    resetOptions: { keepDirtyValues: true },
  })
  const { isDirty, errors } = form.formState
  const formError = useServerErrors(form, submitError, errorField, describeError)
  useUnsavedGuard((props.warnsAboutUnsavedChanges ?? true) && isDirty && !isPending)

  const field: FieldProps<I> = (name) => {
    const message: unknown = form.getFieldState(name, form.formState).error?.message
    return { ...form.register(name), ...(typeof message === 'string' && message !== '' && { error: message }) }
  }
  return (
    <form
      noValidate
      onFocus={() => prefetch(loadSchemas)}
      onSubmit={(event) => void form.handleSubmit(onSubmit)(event)}
      className="flex flex-col gap-4"
    >
      {children({ field, form })}
      {formError !== null && Object.keys(errors).length === 0 && <Alert tone="bad">{formError}</Alert>}
      <div className="flex flex-wrap items-center gap-2 in-[[role=dialog]]:flex-row-reverse">
        <Button
          type="submit"
          variant={props.isDanger ? 'danger' : 'primary'}
          size={props.size ?? 32}
          isPending={isPending}
          disabledReason={props.disabledReasonOf?.(form.watch()) ?? null}
          className={cx(props.isWide && 'w-full')}
        >
          {props.submitLabel}
        </Button>
        {props.secondary}
      </div>
    </form>
  )
}

const loadSchemas = () => import('./form-schemas.ts')
type FormSchemas = Awaited<ReturnType<typeof loadSchemas>>

function lazyResolver<I extends FieldValues, O>(schema: Props<I, O>['schema']): Resolver<I, unknown, O> {
  return async (values, context, options) => {
    const schemas = await loadSchemas()
    return schemas.zodResolver(schema(schemas))(values, context, options)
  }
}

/** Shows the server's errors about fields below these fields; returns the text of any other error, to show below the form. */
function useServerErrors<I extends FieldValues, O>(
  form: Form<I, O>,
  submitError: unknown,
  errorField: Path<I> | undefined,
  describeError: (error: unknown) => string,
): string | null {
  const byField = submitError ? fieldErrors(submitError) : {}
  const ownErrors = Object.entries(byField).filter(([name]) => name in form.getValues())
  const isAboutField = ownErrors.length > 0 || errorField !== undefined
  useEffect(() => {
    if (!submitError) return
    for (const [name, message] of ownErrors) form.setError(name as Path<I>, { type: 'server', message })
    if (ownErrors.length === 0 && errorField)
      form.setError(errorField, { type: 'server', message: describeError(submitError) })
    // Run again only for a new server error.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [submitError])
  return submitError && !isAboutField ? describeError(submitError) : null
}

function useUnsavedGuard(isOn: boolean): void {
  useBlocker({
    shouldBlockFn: async () => {
      const isLeaving = await confirmed({
        title: 'Leave without saving?',
        body: 'Your changes on this page will be lost.',
        confirmLabel: 'Leave',
        cancelLabel: 'Stay',
      })
      return !isLeaving
    },
    enableBeforeUnload: isOn,
    disabled: !isOn,
  })
}
