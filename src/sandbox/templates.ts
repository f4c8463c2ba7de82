import * as v from 'valibot';

export const templateSchema = v.strictObject({ template_id: v.string(), name: v.string() });

/** An approved agent template (spec §2): what `template_id` may name. */
export type TemplateRecord = v.InferOutput<typeof templateSchema>;

/** The templates approved from the start. */
export const DEFAULT_TEMPLATES: readonly TemplateRecord[] = [
  { template_id: 'tmpl_support', name: 'Customer support' },
  { template_id: 'tmpl_sales', name: 'Sales assistant' },
  { template_id: 'tmpl_onboarding', name: 'Onboarding guide' },
  { template_id: 'tmpl_billing', name: 'Billing questions' },
];
