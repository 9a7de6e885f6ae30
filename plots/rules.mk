# SPDX-License-Identifier: MIT
# The benchmark program behind ./ferry bench, the plots made of its files, the comparison with PyTorch, and the program behind
# ./ferry timeline.

$(BENCH_OBJ): private CPPFLAGS += -Iplots/bench -DBENCH_ROOT='"$(CURDIR)"'
$(BENCH): $(BENCH_OBJ) $(LIBRARY) $(B)/stamp/link $(B)/stamp/bench
	$(call say,LINK,$@)
	$(call link,$(BENCH_OBJ),$(LIBRARY))

$(TIMELINE_OBJ): private CPPFLAGS += -Iplots/trace -DTRACE_SCRIPTS='"$(CURDIR)/plots"'
$(TIMELINE): $(TIMELINE_OBJ) $(LIBRARY) $(B)/stamp/link $(B)/stamp/timeline
	$(call say,LINK,$@)
	$(call link,$(TIMELINE_OBJ),$(LIBRARY))

$(MODEL_OBJ): private CPPFLAGS += -Iplots/model
$(MODEL): $(MODEL_OBJ) $(LIBRARY) $(B)/stamp/link $(B)/stamp/model
	$(call say,LINK,$@)
	$(call link,$(MODEL_OBJ),$(LIBRARY))

.PHONY: bench plots plots-recorded bench-torch bench-ranks model

bench: library $(BENCH) $(TIMELINE) $(MODEL) ## the programs that ./ferry bench and ./ferry timeline run, and the model's check

model: library $(MODEL) ## compare the modeled GPU with published measurements: docs/model.md and its picture
	@plots/model/page.sh --build $(B) $(ARGS)

plots: setup ## measure what is not measured yet, and draw the plots into build/plots
	@$(MAKE) bench
	@plots/draw.sh --build $(B) $(ARGS)

plots-recorded: ## draw the pictures of the lessons from plots/recorded into docs/images
	@plots/draw.sh --recorded docs/images --formats svg $(ARGS)
	@plots/gpu/page.sh

bench-torch: setup ## Ferry and PyTorch in turn, the same work: a table of ratios
	@$(MAKE) bench
	@plots/torch/compare.sh --build $(B) $(ARGS)

bench-ranks: setup ## several processes that train one model: scaling efficiency, beside PyTorch's DDP and MPI's all-reduce
	@$(MAKE) bench
	@plots/torch/ranks.sh --build $(B) $(ARGS)
